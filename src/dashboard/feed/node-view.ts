// The strip of the node. Pure.
import type { Node } from '../../api/k8s/types.ts';
import type { DiskView, NodeView, ThresholdMark } from '../../api/ports/node-page.ts';
import type { DiskRoom, NodeSignals } from '../../api/ports/node-usage.ts';
import { boundText } from './event-stream.ts';

interface CheckResult {
  readonly name: string;
  /** Reported without failing the kubelet's health. */
  readonly isAdvisory: boolean;
  readonly problem: string | undefined;
}

export interface NodeInput {
  readonly checks: readonly CheckResult[];
  /** The Node object; undefined on a node without an API server. */
  readonly node: Node | undefined;
  readonly cpu: NodeView['cpu'];
  readonly memoryCapacityBytes: number;
  readonly signals: Partial<NodeSignals>;
  readonly marks: {
    readonly availableMemoryBytes: number | undefined;
    readonly thresholds: readonly ThresholdMark[];
  };
  readonly pressure: readonly string[];
  readonly pods: NodeView['pods'];
  readonly runtime: {
    readonly name: string;
    readonly version: string;
    readonly failure: string | undefined;
    readonly hasAnswered: boolean;
  };
  readonly certificates: Readonly<Record<string, { readonly notAfterMs: number } | undefined>>;
  readonly configuration: ConfigurationState | undefined;
}

export interface ConfigurationState {
  readonly error: string | undefined;
  readonly pendingRestart: readonly string[];
  /** Of the newest configuration. */
  readonly outcome: string | undefined;
}

const textLength = 500;
const maxPending = 50;

export function nodeView(input: NodeInput): NodeView {
  const { cpu, marks, memoryCapacityBytes, pods, pressure, signals } = input;
  return {
    ready: readiness(input),
    cpu,
    memory: {
      capacityBytes: signals.memory?.capacityBytes ?? memoryCapacityBytes,
      availableBytes: marks.availableMemoryBytes,
      thresholds: marks.thresholds.filter(({ signal }) => signal === 'memory.available'),
    },
    disks: disks(signals, marks.thresholds),
    pressure,
    processes: signals.processes && { current: signals.processes.current, max: signals.processes.max },
    pods,
    runtime: runtimeView(input.runtime),
    certificates: Object.entries(input.certificates).flatMap(([name, certificate]) =>
      certificate === undefined ? [] : [{ name, notAfterMs: certificate.notAfterMs }],
    ),
    configuration: configurationView(input.configuration),
  };
}

/** What the control plane was last sent; without a control plane, or while it disagrees with the kubelet, the kubelet's checks. */
function readiness({ checks, node }: Pick<NodeInput, 'checks' | 'node'>): NodeView['ready'] {
  const failed = checks.filter(({ problem }) => problem !== undefined);
  const text = (each: CheckResult): string => `${each.name}: ${each.problem ?? ''}`;
  const failing = failed.filter(({ isAdvisory }) => !isAdvisory).map(text);
  const advisory = failed.filter(({ isAdvisory }) => isAdvisory).map(text);
  const condition = node?.status?.conditions?.find(({ type }) => type === 'Ready');
  const isReported = condition === undefined || condition.status === 'True';
  const reported = isReported
    ? []
    : [condition.message ?? condition.reason ?? 'the node is reported not ready'];
  const problems = [...failing, ...reported];
  if (problems.length > 0) return { ok: false, why: boundText(problems.join('; '), textLength) };
  const well = condition === undefined ? 'all health checks of the kubelet pass' : (condition.message ?? '');
  return { ok: true, why: boundText(advisory.length === 0 ? well : advisory.join('; '), textLength) };
}

/** File systems with the same device are one. */
function disks(signals: Partial<NodeSignals>, marks: readonly ThresholdMark[]): readonly DiskView[] {
  const rooms: readonly (readonly [string, DiskRoom | undefined])[] = [
    ['nodefs', signals.nodeFs],
    ['imagefs', signals.imageFs],
    ['containerfs', signals.containerFs],
  ];
  const seen = new Set<string>();
  return rooms.flatMap(([name, room]) => {
    if (room === undefined || seen.has(room.device)) return [];
    seen.add(room.device);
    const { availableBytes, capacityBytes, inodes, inodesFree } = room;
    // All signals of this device: imagefs.available applies to the file system of nodefs if both are one.
    const names = rooms.flatMap(([each, other]) => (other?.device === room.device ? [`${each}.`] : []));
    const thresholds = distinct(marks.filter(({ signal }) => names.some((name) => signal.startsWith(name))));
    return [{ name, capacityBytes, availableBytes, inodes, inodesFree, thresholds }];
  });
}

/** Of the same thresholds of several signals, the first: containerfs takes those of nodefs or imagefs. */
function distinct(marks: readonly ThresholdMark[]): readonly ThresholdMark[] {
  const place = ({ available, kind, signal }: ThresholdMark): string =>
    `${kind} ${available} ${signal.slice(signal.indexOf('.'))}`;
  const first = new Map(marks.toReversed().map((mark) => [place(mark), mark]));
  return marks.filter((mark) => first.get(place(mark)) === mark);
}

function runtimeView({ failure, hasAnswered, name, version }: NodeInput['runtime']): NodeView['runtime'] {
  const problem = failure ?? (hasAnswered ? undefined : 'the container runtime has not answered yet');
  const known = { name: boundText(name, textLength), version: boundText(version, textLength) };
  return problem === undefined
    ? { ...known, ok: true }
    : { ...known, ok: false, problem: boundText(problem, textLength) };
}

function configurationView(state: ConfigurationState | undefined): NodeView['configuration'] {
  if (state === undefined) return { state: 'static', pending: [] };
  const pending = state.pendingRestart.slice(0, maxPending);
  if (state.error !== undefined) return { state: `invalid: ${boundText(state.error, textLength)}`, pending };
  return { state: pending.length > 0 ? 'pending-restart' : (state.outcome ?? 'good'), pending };
}
