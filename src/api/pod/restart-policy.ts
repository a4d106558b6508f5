// Whether an exited container restarts. Pure. Upstream: pkg/api/v1/pod (ContainerShouldRestart) and
// pkg/kubelet/container (ShouldContainerBeRestarted).
import type { Container } from '../k8s/types.ts';

export interface RestartView {
  /** The pod's restartPolicy. Default: Always. */
  readonly podPolicy: string | undefined;
  /** The gate ContainerRestartRules: containers may have their own policy and rules. */
  readonly rules: boolean;
}

export type RestartSpec = Pick<Container, 'restartPolicy' | 'restartPolicyRules'>;

export function restartsAfter(view: RestartView, container: RestartSpec, exitCode: number): boolean {
  if (!view.rules || container.restartPolicy === undefined) return policyRestarts(view.podPolicy, exitCode);
  return ruleRestarts(container, exitCode) || policyRestarts(container.restartPolicy, exitCode);
}

function policyRestarts(policy: string | undefined, exitCode: number): boolean {
  if (policy === 'Never') return false;
  return policy !== 'OnFailure' || exitCode !== 0;
}

/** The first matching rule decides; its only action is Restart. */
function ruleRestarts(container: RestartSpec, exitCode: number): boolean {
  const rule = (container.restartPolicyRules ?? []).find(({ exitCodes }) => {
    if (exitCodes === undefined) return false;
    const listed = (exitCodes.values ?? []).includes(exitCode);
    return exitCodes.operator === 'In' ? listed : exitCodes.operator === 'NotIn' && !listed;
  });
  return rule?.action === 'Restart';
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
