// Computes the node's conditions and the events for those that changed. Pure. Upstream: pkg/kubelet/nodestatus/setters.go.
// Invariants: new conditions are appended in the order MemoryPressure, DiskPressure, PIDPressure, Ready; a transition time
// changes only with the status; other controllers' conditions keep their position.
import type { NodeCondition, ResourceList } from '../api/k8s/types.ts';
import type { NodePressure } from './node-facts.ts';

interface ConditionInput {
  readonly before: readonly NodeCondition[];
  readonly pressure: NodePressure;
  readonly problems: readonly string[];
  readonly capacity: ResourceList;
  readonly localStorageIsolation: boolean;
  readonly now: string;
}

interface ConditionResult {
  readonly conditions: readonly NodeCondition[];
  /** Reasons of the events "Node … status is now: …". */
  readonly transitions: readonly string[];
}

interface Verdict {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly event: string;
  /** Whether a new condition emits an event: true for all but Ready. */
  readonly emitsWhenNew: boolean;
}

const pressures = [
  {
    type: 'MemoryPressure',
    of: 'memory',
    yes: [
      'KubeletHasInsufficientMemory',
      'kubelet has insufficient memory available',
      'NodeHasInsufficientMemory',
    ],
    no: ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available', 'NodeHasSufficientMemory'],
  },
  {
    type: 'DiskPressure',
    of: 'disk',
    yes: ['KubeletHasDiskPressure', 'kubelet has disk pressure', 'NodeHasDiskPressure'],
    no: ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure', 'NodeHasNoDiskPressure'],
  },
  {
    type: 'PIDPressure',
    of: 'pid',
    yes: ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available', 'NodeHasInsufficientPID'],
    no: ['KubeletHasSufficientPID', 'kubelet has sufficient PID available', 'NodeHasSufficientPID'],
  },
] as const;

export function computeConditions(input: ConditionInput): ConditionResult {
  const verdicts = [...pressures.map((each) => pressureVerdict(each, input.pressure)), readyVerdict(input)];
  const conditions = [...input.before];
  const transitions: string[] = [];
  for (const { event, emitsWhenNew, ...verdict } of verdicts) {
    const at = conditions.findIndex(({ type }) => type === verdict.type);
    const existing = conditions[at];
    const same = existing?.status === verdict.status;
    if (!same && (existing !== undefined || emitsWhenNew)) transitions.push(event);
    const condition: NodeCondition = {
      ...verdict,
      // Only Ready updates reason and message while its status stays the same.
      ...(same && verdict.type !== 'Ready' ? keptReason(existing) : {}),
      lastHeartbeatTime: input.now,
      lastTransitionTime: same ? (existing.lastTransitionTime ?? input.now) : input.now,
    };
    if (at < 0) conditions.push(condition);
    else conditions[at] = condition;
  }
  return { conditions, transitions };
}

function keptReason({ reason, message }: NodeCondition): Pick<NodeCondition, 'reason' | 'message'> {
  return { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

function pressureVerdict(row: (typeof pressures)[number], pressure: NodePressure): Verdict {
  const under = pressure[row.of];
  const [reason, message, event] = under ? row.yes : row.no;
  return { type: row.type, status: under ? 'True' : 'False', reason, message, event, emitsWhenNew: true };
}

function readyVerdict({ problems, capacity, localStorageIsolation }: ConditionInput): Verdict {
  const required = ['cpu', 'memory', 'pods', ...(localStorageIsolation ? ['ephemeral-storage'] : [])];
  const missing = required.filter((name) => capacity[name] === undefined);
  const all = [
    ...problems,
    ...(missing.length === 0 ? [] : [`missing node capacity for resources: ${missing.join(', ')}`]),
  ];
  const type = 'Ready';
  if (all.length === 0) {
    const message = 'kubelet is posting ready status';
    return { type, status: 'True', reason: 'KubeletReady', message, event: 'NodeReady', emitsWhenNew: false };
  }
  const message = aggregate(all);
  return {
    type,
    status: 'False',
    reason: 'KubeletNotReady',
    message,
    event: 'NodeNotReady',
    emitsWhenNew: false,
  };
}

/** A single problem verbatim; several as `[a, b]` without duplicates. */
function aggregate(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}
