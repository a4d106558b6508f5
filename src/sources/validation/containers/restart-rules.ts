// Validates restart policy, restart rules and resize policy of a container.
// Upstream: pkg/apis/core/validation (validateContainerRestartPolicy, validateResizePolicy).
import type { Container, ContainerRestartRule } from '../../../api/k8s/types.ts';
import type { Violations } from '../violation.ts';

const maxRules = 20;
const maxExitCodes = 255;

/** With the gates ContainerRestartRules and RestartAllContainersOnContainerExits. */
export function checkRestartRules(v: Violations, path: string, container: Container): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container;
  if (restartPolicy === undefined) {
    if (rules.length > 0) v.required(`${path}.restartPolicy`, 'must be given with restartPolicyRules');
  } else v.word(`${path}.restartPolicy`, restartPolicy, ['Always', 'Never', 'OnFailure']);
  if (rules.length > maxRules) v.tooMany(`${path}.restartPolicyRules`, rules.length, maxRules);
  for (const [index, rule] of rules.entries()) checkRule(v, `${path}.restartPolicyRules[${index}]`, rule);
}

function checkRule(v: Violations, path: string, { action, exitCodes }: ContainerRestartRule): void {
  v.word(`${path}.action`, action ?? '', ['Restart', 'RestartAllContainers']);
  if (exitCodes === undefined) {
    v.required(`${path}.exitCodes`, 'must be given');
    return;
  }
  v.word(`${path}.exitCodes.operator`, exitCodes.operator ?? '', ['In', 'NotIn']);
  const codes = exitCodes.values ?? [];
  if (codes.length > maxExitCodes) v.tooMany(`${path}.exitCodes.values`, codes.length, maxExitCodes);
}

export function checkResizePolicy(
  v: Violations,
  path: string,
  policies: NonNullable<Container['resizePolicy']>,
  podRestartPolicy: string | undefined,
): void {
  const seen = new Set<string>();
  for (const [index, { resourceName, restartPolicy }] of policies.entries()) {
    const at = `${path}[${index}]`;
    if (seen.has(resourceName)) v.duplicate(at, resourceName);
    seen.add(resourceName);
    v.requiredWord(`${at}.resourceName`, resourceName, ['cpu', 'memory']);
    v.requiredWord(`${at}.restartPolicy`, restartPolicy, ['NotRequired', 'RestartContainer']);
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired')
      v.invalid(`${at}.restartPolicy`, restartPolicy, 'must be NotRequired when the pod is never restarted');
  }
}
