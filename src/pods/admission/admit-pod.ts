// Decides whether a pod may run on this node, and which pods it preempts. Pure; reasons and messages are upstream's.
// Upstream: pkg/kubelet/lifecycle/predicate.go.

import type { Node, Pod } from '../../api/k8s/types.ts';
import { isCriticalPod } from '../../api/pod/critical-pods.ts';
import { isStaticPod } from '../../api/ports/pod-source.ts';
import { parseAmounts } from '../../api/quantity/resource-amounts.ts';
import { describeError } from '../../base/errors.ts';
import { findShortages, type RequestOptions, type Shortage } from './fits-resources.ts';
import { matchesNode } from './node-affinity.ts';
import { hasPortConflict, namesAnotherNode, untoleratedTaint } from './node-constraints.ts';
import { podsToPreempt } from './preemption.ts';

interface AdmissionInput extends RequestOptions {
  readonly pod: Pod;
  /** Active pods that are already admitted. */
  readonly others: readonly Pod[];
  /** Read: labels, taints, allocatable, features. */
  readonly node: Node;
}

type Admission =
  | { readonly admit: true; readonly preempt: readonly Pod[]; readonly shortOf?: string }
  | {
      readonly admit: false;
      readonly reason: string;
      readonly message: string;
      /** Nothing but the node's labels speaks against the pod: they may have changed since they were watched. */
      readonly isAffinityOnly?: true;
    };

const osLabel = 'kubernetes.io/os';
const affinity = 'NodeAffinity';

export function admitPod(input: AdmissionInput): Admission {
  const { node, others, pod } = input;
  const unsupported = unsupportedByNode(pod, node);
  if (unsupported !== undefined) return { admit: false, ...unsupported };
  const shortages = findShortages(pod, others, parseAmounts(node.status?.allocatable), input);
  const constraints = brokenConstraints(pod, others, node);
  const [shortage] = shortages;
  if (shortage !== undefined && !isCriticalPod(pod)) return { admit: false, ...describeShortage(shortage) };
  const [constraint] = constraints;
  if (constraint !== undefined) {
    const isAffinityOnly = shortage === undefined && constraints.every(({ reason }) => reason === affinity);
    return { admit: false, ...constraint, ...(isAffinityOnly ? { isAffinityOnly } : {}) };
  }
  if (shortage === undefined) return { admit: true, preempt: [] };
  try {
    return {
      admit: true,
      preempt: podsToPreempt(pod, others, shortages, input),
      shortOf: shortage.resource,
    };
  } catch (err) {
    return {
      admit: false,
      reason: 'UnexpectedAdmissionError',
      message: `Unexpected error while attempting to recover from admission failure: ${describeError(err)}`,
    };
  }
}

interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** Checked first: no pod is preempted for one that cannot run on this node anyway. */
function unsupportedByNode(pod: Pod, node: Node): Rejection | undefined {
  const requestedOs = pod.metadata?.labels?.[osLabel];
  if (requestedOs !== undefined && requestedOs !== 'linux')
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: `Failed to admit pod as the \`${osLabel}\` label doesn't match node label`,
    };
  if (pod.spec?.os !== undefined && pod.spec.os.name !== 'linux')
    return {
      reason: 'PodOSNotSupported',
      message: "Failed to admit pod as the OS field doesn't match node OS",
    };
  const strict = pod.spec?.securityContext?.supplementalGroupsPolicy === 'Strict';
  if (strict && node.status?.features?.supplementalGroupsPolicy !== true)
    return {
      reason: 'SupplementalGroupsPolicyNotSupported',
      message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
    };
  return undefined;
}

function brokenConstraints(pod: Pod, others: readonly Pod[], node: Node): readonly Rejection[] {
  const broken: Rejection[] = [];
  const reject = (name: string, why: string): void =>
    void broken.push({ reason: name, message: `Predicate ${name} failed: ${why}` });
  if (!matchesNode(pod, node)) reject(affinity, "node(s) didn't match Pod's node affinity/selector");
  if (namesAnotherNode(pod, node)) reject('NodeName', "node(s) didn't match the requested node name");
  if (hasPortConflict(pod, others))
    reject('NodePorts', "node(s) didn't have free ports for the requested pod ports");
  if (!isStaticPod(pod) && untoleratedTaint(pod, node) !== undefined)
    reject('TaintToleration', "node(s) had taints that the pod didn't tolerate");
  return broken;
}

function describeShortage({ resource, requested, used, capacity }: Shortage): Rejection {
  return {
    reason: `OutOf${resource}`,
    message: `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  };
}
