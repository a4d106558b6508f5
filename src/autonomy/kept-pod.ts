// What of a pod is kept, and when a kept pod is over. Pure.
// Invariant: the fields that the API source compares are the API server's, so that its first list finds the pod unchanged.
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';

/** Of the status of pods that a graceful node shutdown terminates, or does not let start. */
const shutdownReasons: readonly (string | undefined)[] = ['Terminated', 'NodeShutdown'];

/** The pod as it is kept: the API object, with this node's own status where that is newer. */
export function computeKeptPod(pod: Pod, own: PodStatus | undefined): Pod {
  const status = mergeStatus(pod.status, own);
  return status === undefined ? pod : { ...pod, status };
}

function mergeStatus(api: PodStatus | undefined, own: PodStatus | undefined): PodStatus | undefined {
  if (own === undefined || isEndOfShutdown(own)) return api;
  if (api === undefined) return own;
  const merged: PodStatus = {
    ...api,
    ...own,
    conditions: mergeConditions(api.conditions ?? [], own.conditions ?? []),
  };
  // A phase that the API server has is final.
  return api.phase !== undefined && isTerminalPhase(api.phase) ? { ...merged, phase: api.phase } : merged;
}

/**
 * A graceful shutdown of the machine ends every pod. Its pods are over once the API server has that status, so that their controllers
 * replace them; until then they start with the machine, as if the shutdown had left them no time.
 */
function isEndOfShutdown({ reason }: PodStatus): boolean {
  return shutdownReasons.includes(reason);
}

/** In the order of the API server, whose conditions of other writers stay. */
function mergeConditions(api: readonly PodCondition[], own: readonly PodCondition[]): PodCondition[] {
  const byType = new Map(own.map((each) => [each.type, each]));
  const known = new Set(api.map(({ type }) => type));
  return [...api.map((each) => byType.get(each.type) ?? each), ...own.filter(({ type }) => !known.has(type))];
}

/**
 * The pod as it is published while the API server cannot be reached. A pod whose containers have all ended, and will not be
 * restarted, is over even if its phase was not written any more.
 */
export function computePublishedPod(pod: Pod): Pod {
  const phase = phaseAtEnd(pod);
  return phase === undefined || isTerminalPhase(pod.status?.phase)
    ? pod
    : { ...pod, status: { ...pod.status, phase } };
}

/** By priority, so that no pod that was preempted for another one is admitted before it; then the oldest first. */
export function inOrderOfStart(pods: readonly Pod[]): readonly Pod[] {
  const created = ({ metadata }: Pod): string => metadata?.creationTimestamp ?? '';
  const priority = ({ spec }: Pod): number => spec?.priority ?? 0;
  return pods.toSorted(
    (a, b) =>
      priority(b) - priority(a) ||
      compareTexts(created(a), created(b)) ||
      compareTexts(a.metadata?.uid ?? '', b.metadata?.uid ?? ''),
  );
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Whether the pod no longer needs what it refers to: it was deleted, or has ended. */
export function isOver(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp !== undefined || isTerminalPhase(pod.status?.phase);
}

function phaseAtEnd({ spec, status }: Pod): 'Succeeded' | 'Failed' | undefined {
  const policy = spec?.restartPolicy ?? 'Always';
  const names = (spec?.containers ?? []).map(({ name }) => name);
  if (policy === 'Always' || (spec?.containers ?? []).some((each) => hasOwnPolicy(each))) return undefined;
  const statuses = new Map((status?.containerStatuses ?? []).map((each) => [each.name, each]));
  const codes = names.map((name) => exitCodeOf(statuses.get(name)));
  if (names.length === 0 || codes.includes(undefined)) return undefined;
  if (codes.every((code) => code === 0)) return 'Succeeded';
  return policy === 'Never' ? 'Failed' : undefined;
}

/** A container with a restart policy or rules of its own may be restarted in spite of the pod's policy. */
function hasOwnPolicy(container: {
  readonly restartPolicy?: string;
  readonly restartPolicyRules?: readonly unknown[];
}): boolean {
  return container.restartPolicy !== undefined || (container.restartPolicyRules ?? []).length > 0;
}

function exitCodeOf(status: ContainerStatus | undefined): number | undefined {
  return status?.state?.terminated?.exitCode;
}
