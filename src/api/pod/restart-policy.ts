// Whether an exited container restarts. Pure. Upstream: pkg/api/v1/pod (ContainerShouldRestart) and
// pkg/kubelet/container (ShouldContainerBeRestarted).
import type { Container, Pod } from '../k8s/types.ts';

export interface RestartView {
  /** The pod's restartPolicy. Default: Always. */
  readonly podPolicy: string | undefined;
  /** The gate ContainerRestartRules: containers may have their own policy and rules. */
  readonly rules: boolean;
  /** The gate RestartAllContainersOnContainerExits: a rule may restart all containers of the pod. */
  readonly all?: boolean | undefined;
}

export type RestartSpec = Pick<Container, 'restartPolicy' | 'restartPolicyRules'>;

export function restartsAfter(view: RestartView, container: RestartSpec, exitCode: number): boolean {
  if (!view.rules || container.restartPolicy === undefined) return policyRestarts(view.podPolicy, exitCode);
  const action = matchingAction(container, exitCode);
  if (action === 'Restart' || (action === restartAll && view.all === true)) return true;
  return policyRestarts(container.restartPolicy, exitCode);
}

function policyRestarts(policy: string | undefined, exitCode: number): boolean {
  if (policy === 'Never') return false;
  return policy !== 'OnFailure' || exitCode !== 0;
}

const restartAll = 'RestartAllContainers';

/** Whether the exit of this container restarts all containers of its pod. */
export function restartsAllAfter(container: RestartSpec, exitCode: number): boolean {
  return matchingAction(container, exitCode) === restartAll;
}

/** Whether any rule of the pod may restart all of its containers. */
export function mayRestartAll({ spec }: Pick<Pod, 'spec'>): boolean {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].some((container) =>
    container.restartPolicyRules?.some(({ action }) => action === restartAll),
  );
}

/** The action of the first matching rule. */
function matchingAction(container: RestartSpec, exitCode: number): string | undefined {
  const rule = (container.restartPolicyRules ?? []).find(({ exitCodes }) => {
    if (exitCodes === undefined) return false;
    const listed = (exitCodes.values ?? []).includes(exitCode);
    return exitCodes.operator === 'In' ? listed : exitCodes.operator === 'NotIn' && !listed;
  });
  return rule?.action;
}

/** For a container that the kubelet kills: without an exit code, no rule applies. */
export function restartsAfterKill(view: RestartView, container: RestartSpec): boolean {
  const policy = view.rules ? (container.restartPolicy ?? view.podPolicy) : view.podPolicy;
  return policy !== 'Never';
}

/** A restartable init container. */
export function isSidecar(container: Pick<Container, 'restartPolicy'>): boolean {
  return container.restartPolicy === 'Always';
}
