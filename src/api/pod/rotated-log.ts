// The names of rotated container logs, for their writer (logs) and their readers (edge/logs). Upstream: pkg/kubelet/logs, which
// appends the time of the rotation: 0.log.20261118-130500, with .gz once compressed and .tmp during compression.
// Invariant: names sort by their order of rotation, compressed or not, also where a program compares whole file names, as
// upstream does.
// differs from upstream: the time is UTC, since local times repeat when summer time ends. Further rotations within a second append
// _001 to _999, which sorts after the .gz of the first. A clock that was set back continues at the newest name.

export type RotatedLogKind = 'plain' | 'compressed' | 'temporary';

interface RotatedLogName {
  /** The name without .gz and .tmp, which identifies the rotation and orders rotations. */
  readonly rotation: string;
  readonly kind: RotatedLogKind;
}

const suffix = /^\.\d{8}-\d{6}(?:_\d{3})?(\.gz|\.tmp)?$/;
const secondsLength = '20261118-130500'.length;
const maxSequence = 999;

/** Undefined if `name` is not a rotated file of the log `live`. Both are names without a directory. */
export function parseRotatedLog(live: string, name: string): RotatedLogName | undefined {
  if (!name.startsWith(live)) return undefined;
  const match = suffix.exec(name.slice(live.length));
  if (match === null) return undefined;
  const [, ending = ''] = match;
  const rotation = name.slice(0, name.length - ending.length);
  if (ending === '') return { rotation, kind: 'plain' };
  return { rotation, kind: ending === '.gz' ? 'compressed' : 'temporary' };
}

/** The name for the next rotation of `live`, which sorts after `newest`, the rotation before; undefined if there is none. */
export function nextRotation(live: string, nowMs: number, newest: string | undefined): string {
  const now = secondsText(nowMs);
  if (newest === undefined) return `${live}.${now}`;
  const last = newest.slice(live.length + 1);
  const seconds = last.slice(0, secondsLength);
  if (now > seconds) return `${live}.${now}`;
  const sequence = Number(last.slice(secondsLength + 1)) + 1;
  if (sequence <= maxSequence) return `${live}.${seconds}_${String(sequence).padStart(3, '0')}`;
  const following = secondsText(parseSeconds(seconds) + 1000);
  return `${live}.${following.length === secondsLength ? following : now}`;
}

function secondsText(ms: number): string {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T');
  return `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`;
}

function parseSeconds(text: string): number {
  const part = (from: number, to: number): number => Number(text.slice(from, to));
  return Date.UTC(part(0, 4), part(4, 6) - 1, part(6, 8), part(9, 11), part(11, 13), part(13, 15));
}
