// The node's conditions and what is told when one turns. Pure. Upstream: pkg/kubelet/nodestatus/setters.go.
// Invariants: the order is MemoryPressure, DiskPressure, PIDPressure, Ready, and Ready is new only behind the others; a
// transition time changes with the status alone; conditions of others stay where they are.
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
  readonly turned: readonly string[];
}

interface Verdict {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly event: string;
  /** A condition that is new is news, too; Ready's first word is not. */
  readonly tellsFirst: boolean;
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
  const turned: string[] = [];
  for (const { event, tellsFirst, ...verdict } of verdicts) {
    const at = conditions.findIndex(({ type }) => type === verdict.type);
    const known = conditions[at];
    const same = known?.status === verdict.status;
    if (!same && (known !== undefined || tellsFirst)) turned.push(event);
    const condition: NodeCondition = {
      ...verdict,
      // Only Ready explains itself anew while it stays what it is.
      ...(same && verdict.type !== 'Ready' ? keptWords(known) : {}),
      lastHeartbeatTime: input.now,
      lastTransitionTime: same ? (known.lastTransitionTime ?? input.now) : input.now,
    };
    if (at < 0) conditions.push(condition);
    else conditions[at] = condition;
  }
  return { conditions, turned };
}

function keptWords({ reason, message }: NodeCondition): Pick<NodeCondition, 'reason' | 'message'> {
  return { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

function pressureVerdict(row: (typeof pressures)[number], pressure: NodePressure): Verdict {
  const under = pressure[row.of];
  const [reason, message, event] = under ? row.yes : row.no;
  return { type: row.type, status: under ? 'True' : 'False', reason, message, event, tellsFirst: true };
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
    return { type, status: 'True', reason: 'KubeletReady', message, event: 'NodeReady', tellsFirst: false };
  }
  const message = aggregate(all);
  return {
    type,
    status: 'False',
    reason: 'KubeletNotReady',
    message,
    event: 'NodeNotReady',
    tellsFirst: false,
  };
}

/** One problem as it is; several as `[a, b]`, each once. */
function aggregate(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}
