// Decides which files of a container's log are removed, renamed and compressed. Pure. Upstream: rotateLog, cleanupUnusedLogs and
// removeExcessLogs in pkg/kubelet/logs.
// Invariants: never more than maxFiles files, the current one included, and the oldest go first; the newest rotated file is never
// compressed, since the runtime may still write to it; only files named by a kubelet are removed.
// differs from upstream: there every file <log>.* is removed or compressed, also one that no kubelet created.
import { nextRotation, parseRotatedLog, type RotatedLogKind } from '../api/pod/rotated-log.ts';

/** A regular file in the directory of a log. */
export interface LogEntry {
  readonly name: string;
  /** Identifies the file, whatever its name. */
  readonly identity: string;
  /** The last change of its content or name. */
  readonly changedAtMs: number;
}

interface LogFolder {
  /** The name of the current file. */
  readonly live: string;
  readonly entries: readonly LogEntry[];
  readonly maxFiles: number;
  readonly nowMs: number;
  /** The rotated file that is being compressed; its temporary file is in use. */
  readonly compressing?: string | undefined;
}

interface RotationPlan {
  /** In this order. */
  readonly remove: readonly string[];
  /** The name for the current file. */
  readonly renameTo: string;
}

interface UpkeepPlan {
  readonly remove: readonly string[];
  /** The next file to compress. */
  readonly compress: string | undefined;
  /** When a file that is too young can be compressed. */
  readonly againInMs: number | undefined;
}

/** How long a rotated file must be unchanged: after a rotation, the runtime may still write lines to the old file. */
export const quietMs = 1_000;

export function computeRotation(folder: LogFolder): RotationPlan {
  const { rotations, strays } = sortOut(folder);
  // The current file becomes a rotated one, and the runtime creates another.
  const excess = rotations.slice(0, Math.max(0, rotations.length - Math.max(0, folder.maxFiles - 2)));
  return {
    remove: [...strays, ...excess.map(({ entry }) => entry.name)],
    renameTo: nextRotation(folder.live, folder.nowMs, rotations.at(-1)?.rotation),
  };
}

export function computeUpkeep(folder: LogFolder): UpkeepPlan {
  const { rotations, strays } = sortOut(folder);
  const excess = rotations.slice(0, Math.max(0, rotations.length - Math.max(1, folder.maxFiles - 1)));
  const kept = rotations.slice(excess.length, -1).filter(({ kind }) => kind === 'plain');
  const waits = kept.map(({ entry }) => waitMs(entry, folder.nowMs));
  const next = kept[waits.indexOf(0)];
  return {
    remove: [...strays, ...excess.map(({ entry }) => entry.name)],
    compress: next?.entry.name,
    againInMs: next === undefined && waits.length > 0 ? Math.min(...waits) : undefined,
  };
}

/** A change in the future is one before the clock was set back. */
function waitMs({ changedAtMs }: LogEntry, nowMs: number): number {
  const ageMs = nowMs - changedAtMs;
  return ageMs < -quietMs ? 0 : Math.max(0, Math.ceil(quietMs - ageMs));
}

interface Rotation {
  readonly rotation: string;
  readonly kind: RotatedLogKind;
  readonly entry: LogEntry;
}

/** The rotated files, oldest first, and the leftovers of a kubelet that was killed. */
function sortOut({ compressing, entries, live }: LogFolder): {
  readonly rotations: readonly Rotation[];
  readonly strays: readonly string[];
} {
  const current = entries.find(({ name }) => name === live);
  const names = new Set(entries.map(({ name }) => name));
  const rotations: Rotation[] = [];
  const strays: string[] = [];
  for (const entry of entries) {
    const parsed = parseRotatedLog(live, entry.name);
    if (parsed === undefined) continue;
    const { kind, rotation } = parsed;
    if (kind === 'temporary') {
      if (rotation !== compressing) strays.push(entry.name);
    } else if (kind === 'plain' && (names.has(`${rotation}.gz`) || entry.identity === current?.identity)) {
      // Compressed already, or a second name of the current file: its rename back was interrupted.
      strays.push(entry.name);
    } else {
      rotations.push({ rotation, kind, entry });
    }
  }
  return { rotations: rotations.toSorted((a, b) => (a.rotation < b.rotation ? -1 : 1)), strays };
}
