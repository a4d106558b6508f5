// Short notation for tables of the pod action decider: pods by container names, observations by container, actions as
// text.
import { expect, test } from 'vitest';
import type { Container, Pod, ResourceRequirements } from '../../src/api/k8s/types.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../../src/api/pod/observed.ts';
import { asContainerId, asSandboxId } from '../../src/api/pod/pod-ref.ts';
import type { ProbeKind, ProbeOutcome } from '../../src/api/ports/probe-results.ts';
import { computePodActions } from '../../src/runtime/decide/compute-pod-actions.ts';
import type { PodAction } from '../../src/runtime/decide/pod-action.ts';
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
  exited,
  type PodOver,
} from './builders.ts';

type Spec = string | Container;

function named(each: Spec): Container {
  return typeof each === 'string' ? aContainer({ name: each }) : each;
}

export function sidecar(name: string, over: Partial<Container> = {}): Container {
  return aContainer({ name, restartPolicy: 'Always', ...over });
}

interface PodParts extends Omit<PodOver, 'initContainers' | 'containers' | 'ephemeralContainers'> {
  readonly init?: readonly Spec[];
  readonly apps?: readonly Spec[];
  readonly debug?: readonly string[];
  readonly deleted?: boolean;
}

/** By default with the regular containers a, b and c. */
export function podOf(parts: PodParts = {}): Pod {
  const { apps = ['a', 'b', 'c'], debug = [], deleted = false, init = [], ...over } = parts;
  const pod = aPod({
    ...over,
    containers: apps.map(named),
    ...(init.length === 0 ? {} : { initContainers: init.map(named) }),
    ...(debug.length === 0 ? {} : { ephemeralContainers: debug.map(named) }),
  });
  if (!deleted) return pod;
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-11-15T00:00:00Z' } };
}

export const runs = (name: string, over: Partial<ObservedContainer> = {}): ObservedContainer =>
  anObservedContainer({ name, ...over });
export const ended = (name: string, code: number, over: Partial<ObservedContainer> = {}): ObservedContainer =>
  exited(code, { name, ...over });
export const created = (name: string, over: Partial<ObservedContainer> = {}): ObservedContainer =>
  anObservedContainer({ name, state: 'created', startedAtMs: 0, ...over });
export const lost = (name: string, over: Partial<ObservedContainer> = {}): ObservedContainer =>
  anObservedContainer({ name, state: 'unknown', ...over });
export const cut = (name: string, over: Partial<ObservedContainer> = {}): ObservedContainer =>
  exited(128, {
    name,
    reason: 'StartError',
    startedAtMs: 0,
    message: 'failed to create containerd task: failed to create shim task: context canceled: unknown',
    ...over,
  });

export const older = asSandboxId('older');

/** In a ready sandbox. */
export const up = (...containers: ObservedContainer[]): ObservedPod => anObservedPod({ containers });
export const down = (
  containers: readonly ObservedContainer[],
  over: Partial<ObservedSandbox> = {},
): ObservedPod => anObservedPod({ containers, sandboxes: [aSandbox({ ready: false, ...over })] });

/** An action with all of its fields in one line. */
function text(action: PodAction): string {
  switch (action.do) {
    case 'stop-pod':
      return `stop pod: ${action.why}`;
    case 'remove-containers':
      return `remove ${action.ids.join(' ')}`;
    case 'create-sandbox':
      return `${action.changed ? 'next' : 'first'} sandbox ${action.attempt}`;
    case 'stop-container':
      return `stop ${action.id} of ${action.name}: ${action.why} (${action.cause})`;
    case 'reset-containers':
      return `reset ${action.stages.map((stage) => stage.join(' ')).join(', then ')}`;
    case 'resize-pod': {
      const list = (resizes: typeof action.cpu): string =>
        resizes.map(({ name }) => name).join(' ') || 'none';
      const pod = action.podLevel ? ', of the pod' : action.podCgroup ? ", of the pod's cgroup" : '';
      return `resize: memory of ${list(action.memory)}, cpu of ${list(action.cpu)}${pod}`;
    }
    case 'start-container':
      return `start ${action.kind} ${action.name}${action.replaces === undefined ? '' : ` for ${action.replaces}`}`;
    case 'start-created':
      return `go ${action.kind} ${action.name} ${action.id}`;
    case 'finish-start':
      return `finish ${action.kind} ${action.name} ${action.id}`;
  }
}

/** Probe outcomes by container and kind: `a-1 liveness`. */
type Probes = Readonly<Record<string, ProbeOutcome>>;

export type Row = readonly [
  name: string,
  pod: Pod,
  seen: ObservedPod | undefined,
  want: readonly string[],
  options?: {
    readonly probes?: Probes;
    readonly rules?: boolean;
    /** Actuated resources by container; a container without an entry cannot be resized. */
    readonly given?: Readonly<Record<string, ResourceRequirements>>;
    /** The pod-level resources last given. */
    readonly podLevel?: ResourceRequirements | null;
    /** Containers whose postStart hook has not succeeded. */
    readonly unfinished?: readonly string[];
  },
];

export function checkActions(title: string, rows: readonly Row[]): void {
  for (const [name, pod, seen, want, options = {}] of rows) {
    const { given, podLevel, probes = {}, rules = false, unfinished = [] } = options;
    test(`${title}: ${name}`, () => {
      const view = {
        get: (id: string, kind: ProbeKind): ProbeOutcome | undefined => probes[`${id} ${kind}`],
      };
      const resize = given && {
        actuated: (container: string) => given[container],
        podLevel: { actuated: podLevel },
      };
      const unfinishedHooks = { has: (container: string) => unfinished.includes(container) };
      const options = { probes: view, restartRules: rules, restartAll: rules, resize, unfinishedHooks };
      expect(computePodActions(pod, seen, options).map(text)).toEqual(want);
    });
  }
}

export const id = asContainerId;
export const allEnded = 'stop pod: all containers have terminated and none will be restarted';
export const initFailed = 'stop pod: an init container failed and will not be restarted';
export const notReady = 'stop pod: Pod sandbox changed: the sandbox is not ready';
