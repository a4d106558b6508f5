// Whether a pod may run on this node, and whom it may push aside for it. Pure; reasons and messages are upstream's.
// Upstream: pkg/kubelet/lifecycle/predicate.go.

import type { Node, Pod } from '../../api/k8s/types.ts';
import { isCriticalPod } from '../../api/pod/critical-pods.ts';
import { isStaticPod } from '../../api/ports/pod-source.ts';
import { parseAmounts } from '../../api/quantity/resource-amounts.ts';
import { describeError } from '../../base/errors.ts';
import { findShortages, type RequestOptions, type Shortage } from './fits-resources.ts';
import { matchesNode } from './node-affinity.ts';
import { namesAnotherNode, portsTaken, untoleratedTaint } from './node-constraints.ts';
import { podsToPreempt } from './preemption.ts';

interface AdmissionInput extends RequestOptions {
  readonly pod: Pod;
  /** Pods that are admitted and have not ended. */
  readonly others: readonly Pod[];
  /** The node as it tells of itself: labels, taints, allocatable, features. */
  readonly node: Node;
}

type Admission =
  | { readonly admit: true; readonly preempt: readonly Pod[]; readonly shortOf?: string }
  | { readonly admit: false; readonly reason: string; readonly message: string };

const osLabel = 'kubernetes.io/os';

export function admitPod(input: AdmissionInput): Admission {
  const { node, others, pod } = input;
  const hopeless = whatNothingHelps(pod, node);
  if (hopeless !== undefined) return { admit: false, ...hopeless };
  const shortages = findShortages(pod, others, parseAmounts(node.status?.allocatable), input);
  const constraints = brokenConstraints(pod, others, node);
  const [shortage] = shortages;
  if (shortage !== undefined && !isCriticalPod(pod)) return { admit: false, ...shortageWords(shortage) };
  const [constraint] = constraints;
  if (constraint !== undefined) return { admit: false, ...constraint };
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

interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** Looked at first: nobody is pushed aside for a pod that cannot run here anyway. */
function whatNothingHelps(pod: Pod, node: Node): Refusal | undefined {
  const asked = pod.metadata?.labels?.[osLabel];
  if (asked !== undefined && asked !== 'linux')
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

function brokenConstraints(pod: Pod, others: readonly Pod[], node: Node): readonly Refusal[] {
  const broken: Refusal[] = [];
  const say = (name: string, why: string): void =>
    void broken.push({ reason: name, message: `Predicate ${name} failed: ${why}` });
  if (!matchesNode(pod, node)) say('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
  if (namesAnotherNode(pod, node)) say('NodeName', "node(s) didn't match the requested node name");
  if (portsTaken(pod, others)) say('NodePorts', "node(s) didn't have free ports for the requested pod ports");
  if (!isStaticPod(pod) && untoleratedTaint(pod, node) !== undefined)
    say('TaintToleration', "node(s) had taints that the pod didn't tolerate");
  return broken;
}

function shortageWords({ resource, requested, used, capacity }: Shortage): Refusal {
  return {
    reason: `OutOf${resource}`,
    message: `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  };
}
