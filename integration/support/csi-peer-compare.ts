// What both kubelets showed of the same pods with CSI volumes, and the deliberate differences, without which it is the same.
import { recoverVolumes, refusePods } from './csi-peer-failures.ts';
import { startCsiPeerNode } from './csi-peer-node.ts';
import { CsiPeerPods } from './csi-peer-pods.ts';
import { CsiRecord } from './csi-peer-record.ts';
import { expandVolumes, runPods } from './csi-peer-scenario.ts';

interface Moment {
  readonly calls: Readonly<Record<string, readonly string[]>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
  readonly disk: readonly string[];
  readonly node: unknown;
  readonly attachments: Readonly<Record<string, readonly string[]>>;
  readonly claims: Readonly<Record<string, readonly unknown[]>>;
  readonly statuses: unknown;
  readonly events: readonly string[];
  readonly metrics: readonly string[];
  readonly volumeCounts: readonly string[];
}

/** Of runPods(): of drivers that report it. */
const claimsWithUsage = 8;

type MomentName = 'run' | 'expand' | 'recover' | 'refuse' | 'removed';
export interface Shown extends Readonly<Record<MomentName, Moment>> {
  /** The names of usage metrics, with their labels. */
  readonly usage: readonly string[];
}

/** Runs the pods on a new node, and returns what it showed after each group of them. */
export async function showCsi(command: string | undefined): Promise<Shown> {
  const node = await startCsiPeerNode(command);
  const record = new CsiRecord(node);
  const pods = new CsiPeerPods(node);
  const after = async (work: Promise<void>): Promise<Moment> => {
    await work;
    return {
      calls: record.calls(),
      counts: record.counts(),
      violations: record.violations(),
      disk: record.disk(),
      node: record.nodeObjects(),
      attachments: record.attachments(),
      claims: record.claims(),
      statuses: record.statuses(),
      events: record.events(),
      metrics: await record.metrics(),
      volumeCounts: await record.volumeCounts(),
    };
  };
  try {
    const run = await after(runPods(pods));
    return {
      usage: await record.usage(claimsWithUsage),
      run,
      expand: await after(expandVolumes(pods)),
      recover: await after(recoverVolumes(pods)),
      refuse: await after(refusePods(pods)),
      removed: await after(pods.removeAll()),
    };
  } catch (err) {
    throw new Error(node.describe(), { cause: err });
  } finally {
    await node.stop();
  }
}

/** One aspect at one moment, without the deliberate differences. */
export function comparable(shown: Shown, moment: MomentName, aspect: keyof Moment): unknown {
  const found = shown[moment];
  if (aspect === 'calls') return comparableCalls(found.calls);
  if (aspect === 'disk') return comparableDisk(found.disk);
  if (aspect === 'attachments') return comparableAttachments(found.attachments);
  if (aspect === 'claims') return comparableClaims(found.claims);
  if (aspect === 'events') return comparableEvents(found.events);
  if (aspect === 'metrics') return comparableMetrics(found.metrics);
  return found[aspect];
}

/**
 * A Go kubelet stages a volume and then looks for the secret that its publication needs; this one looks first. When the driver
 * refuses to grow a volume that was just published, a Go kubelet publishes it again. This kubelet has a volume unpublished
 * whenever the driver may have begun with it, also if it was only staged.
 */
function comparableCalls(calls: Moment['calls']): Moment['calls'] {
  const pairs = Object.entries(calls).flatMap(([key, lines]) => {
    if (key.endsWith(' secretive')) return [];
    if (key.endsWith(' tmpfs-offline-refused')) return [[key, [...new Set(lines)]] as const];
    if (!key.includes(' lost-stage-')) return [[key, lines] as const];
    return [[key, lines.filter((line) => !line.startsWith('NodeUnpublishVolume'))] as const];
  });
  return Object.fromEntries(pairs);
}

/**
 * Only root may read vol_data.json of this kubelet. It creates no directories that stay empty: those of drivers that do not stage,
 * which a Go kubelet leaves forever, and `plugins` and `volumes` of each pod.
 */
function comparableDisk(lines: readonly string[]): readonly string[] {
  const empty = /\/kubernetes\.io\/csi\/informed\.example\.com|\/pods\/[^/]+\/(?:plugins|volumes): /;
  return lines
    .filter((line) => !empty.test(line))
    .map((line) => line.replace(/(vol_data\.json: file) 6\d\d/, '$1'));
}

/**
 * A Go kubelet reports a volume as in use with the next status of the node, by which the controller may have attached it; this one
 * reports it at once.
 */
function comparableAttachments(attachments: Moment['attachments']): Moment['attachments'] {
  const isFirst = (step: string): boolean =>
    step === 'in use, not attached' || step === 'not in use, attached';
  return Object.fromEntries(
    Object.entries(attachments).map(([name, steps]) => [
      name,
      steps.filter((step, at) => at > 0 || !isFirst(step)),
    ]),
  );
}

/** A Go kubelet takes an expansion that timed out for one that failed: it notes the error, and may declare it infeasible. */
function comparableClaims(claims: Moment['claims']): Moment['claims'] {
  const isTimeout = (status: unknown): boolean =>
    /NodeResizeError.*Unavailable|Unavailable.*NodeResizeError/.test(JSON.stringify(status));
  return Object.fromEntries(
    Object.entries(claims).map(([name, statuses]) => [name, statuses.filter((status) => !isTimeout(status))]),
  );
}

/**
 * A Go kubelet fails to mount while the driver is missing, and tries again; this one waits for the driver, and reports that. A Go
 * kubelet may try once more to mount a volume of a pod that is deleted, whose secrets it may no longer read.
 */
function comparableEvents(lines: readonly string[]): readonly string[] {
  return lines
    .filter((line) => !line.includes(' is forbidden: '))
    .map((line) =>
      line.replace(/(FailedMount kubelet: ).*absent\.example\.com.*$/, '$1absent.example.com is missing'),
    );
}

/**
 * A Go kubelet counts what this one does not do: attempts to verify an attachment, and reconstructed volumes. It times the change of
 * owners apart from the mount, which includes it, and the usage of drivers that report none.
 */
const onlyTheirs =
  /verify_controller_attached_volume|volume_apply_access_control|^volume_operation_total_seconds|^reconstruct_volume|^force_cleaned|metric_source="grouping/;

/**
 * Left to chance: failures, such as of a request that is lost; whose mount reads the capabilities of a driver, which this kubelet
 * does once; whether a directory of another kind is measured.
 */
const byChance =
  /status="fail-unknown"|NodeGetCapabilities|metric_source="du"|grpc_status_code="[^"O].*NodeGetVolumeStats/;

/** This kubelet unmounts what is on disk, which does not show whether a volume is migrated. */
function comparableMetrics(lines: readonly string[]): readonly string[] {
  const kept = lines
    .filter((line) => !onlyTheirs.test(line) && !byChance.test(line))
    .map((line) =>
      /operation_name="unm|operation_name="volume_unm/.test(line)
        ? line.replace('migrated="true"', 'migrated="false"')
        : line,
    );
  return kept.toSorted();
}
