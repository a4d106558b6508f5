// Opens a container's log files and finds where the response begins: by lines from the end, by time, or at the beginning of the
// current file. Upstream: the first half of ReadLogs in staging/src/k8s.io/cri-client/pkg/logs.
// differs from upstream: lines from the end and lines since a time are also searched in rotated files; there, a log that was
// rotated a moment ago has none.
// Invariant: every piece waits for its turn and is small enough for the event loop; nothing is read once the signal is aborted.
import { KubeletError } from '../../base/errors.ts';
import { isBefore, openRotated, rotationOf } from './find-successor.ts';
import { firstTime, isAfter, readFully } from './first-time.ts';
import type { LogFile, LogFiles, LogTarget, RotatedLog } from './log-files.ts';
import type { LogOptions } from './log-options.ts';
import { maxPieceBytes, Pace } from './pace.ts';
import { BackwardScan, ForwardScan, TailCount } from './tail-scan.ts';
import type { Instant } from './timestamp.ts';
import type { Turns } from './turns.ts';

/** Oldest first; the last one is the current file, if it exists. */
interface OpenedLog {
  readonly files: readonly LogFile[];
  /** The offset in the first file. */
  readonly startAt: number;
  /** The size of the last file when it was opened. */
  readonly endAt: number;
}

/** The first piece of a search; later pieces grow if it was quick. */
const firstPieceBytes = 16 * 1024;

interface OpenLogDeps {
  readonly files: LogFiles;
  readonly turns: Pick<Turns, 'take'>;
  readonly clock: { monotonic(): number };
}

export async function openLog(
  deps: OpenLogDeps,
  target: LogTarget,
  { since, tailLines }: Pick<LogOptions, 'since' | 'tailLines'>,
  signal: AbortSignal,
): Promise<OpenedLog> {
  const opened: LogFile[] = [];
  try {
    const history = new History(deps.files, target);
    const newest = (await history.current()) ?? (await history.older());
    if (newest === undefined) {
      throw new KubeletError(
        'not-found',
        'NoLog',
        `failed to open log file ${JSON.stringify(target.path)}: no such file`,
      );
    }
    opened.unshift(newest);
    const endAt = newest.compressed ? Number.POSITIVE_INFINITY : await newest.size();
    if (tailLines !== undefined) {
      const search = new Search(deps, signal);
      const startAt = await search.tailStart(opened, history, tailLines, endAt);
      await search.skip(opened[0], startAt);
      return { startAt, files: opened, endAt };
    }
    if (since !== undefined) await addSince(opened, history, since, signal);
    return { startAt: 0, files: opened, endAt };
  } catch (err) {
    await Promise.all(opened.map((file) => file.close()));
    throw err;
  }
}

/** The files of one log from the newest to the oldest, opened on demand. */
class History {
  readonly #files: LogFiles;
  readonly #target: LogTarget;
  #current: LogFile | undefined;
  #left: RotatedLog[] | undefined;

  constructor(files: LogFiles, target: LogTarget) {
    this.#files = files;
    this.#target = target;
  }

  async current(): Promise<LogFile | undefined> {
    const { containerId, path } = this.#target;
    const file = await this.#files.open(path, containerId);
    this.#current = file;
    return file;
  }

  async older(): Promise<LogFile | undefined> {
    this.#left ??= await this.#beforeCurrent();
    for (let next = this.#left.pop(); next !== undefined; next = this.#left.pop()) {
      const file = await openRotated(this.#files, next, this.#target.containerId);
      if (file !== undefined) return file;
    }
    return undefined;
  }

  /** The current file may have been rotated since it was opened, several times even. */
  async #beforeCurrent(): Promise<RotatedLog[]> {
    const { path } = this.#target;
    const rotated = await this.#files.rotated(path);
    const own = this.#current && rotationOf(path, await this.#current.name());
    if (own !== undefined) return rotated.filter((each) => isBefore(path, each.path, own));
    return rotated.filter(({ identity }) => identity !== this.#current?.identity);
  }
}

/** Searches files piece by piece, yielding to the event loop in between. */
class Search {
  readonly #deps: OpenLogDeps;
  readonly #signal: AbortSignal;
  readonly #pace: Pace;

  constructor(deps: OpenLogDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    this.#pace = new Pace(deps.clock, firstPieceBytes);
  }

  /** Adds older files until the lines are found; returns their offset in the oldest. */
  async tailStart(opened: LogFile[], history: History, lines: number, endAt: number): Promise<number> {
    if (lines === 0 && Number.isFinite(endAt)) return endAt;
    const count = new TailCount(lines);
    for (let size = endAt; ; ) {
      const file = opened[0];
      if (file === undefined) return 0;
      const start = file.compressed
        ? await this.#forwardStart(file, count)
        : await this.#backwardStart(file, size, count);
      if (start !== undefined) return start;
      const older = await history.older();
      if (older === undefined) return 0;
      opened.unshift(older);
      size = older.compressed ? Number.POSITIVE_INFINITY : await older.size();
    }
  }

  /** Decompresses a compressed file up to this offset, where reading continues. Other files are read at any offset. */
  async skip(file: LogFile | undefined, to: number): Promise<void> {
    if (file?.compressed !== true || to === 0) return;
    await this.#eachPiece(file, () => true, to);
  }

  async #backwardStart(file: LogFile, size: number, count: TailCount): Promise<number | undefined> {
    const scan = new BackwardScan(count);
    const buffer = Buffer.allocUnsafe(maxPieceBytes);
    for (let right = size; right > 0; ) {
      const left = Math.max(0, right - this.#pace.bytes);
      const piece = buffer.subarray(0, right - left);
      const length = await readFully(file, piece, left);
      await this.#turn(length);
      const start = this.#pace.run(() => scan.block(piece.subarray(0, length), left));
      if (start !== undefined) return start;
      right = left;
    }
    return undefined;
  }

  async #forwardStart(file: LogFile, count: TailCount): Promise<number | undefined> {
    const whole = new ForwardScan();
    await this.#eachPiece(file, (piece) => {
      whole.push(piece);
      return true;
    });
    const found = count.passFile(whole.ends, whole.last);
    if (found === undefined) return undefined;
    const again = new ForwardScan();
    let start: number | undefined;
    await this.#eachPiece(file, (piece) => {
      start = again.push(piece, found.afterEnd);
      return start === undefined;
    });
    return start;
  }

  async #eachPiece(
    file: LogFile,
    take: (piece: Buffer) => boolean,
    endAt = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    const buffer = Buffer.allocUnsafe(maxPieceBytes);
    for (let at = 0; at < endAt; ) {
      const wanted = Math.min(this.#pace.bytes, endAt - at);
      const length = await file.read(buffer.subarray(0, wanted), at);
      if (length === 0) return;
      await this.#turn(length);
      if (!this.#pace.run(() => take(buffer.subarray(0, length)))) return;
      at += length;
    }
  }

  async #turn(bytes: number): Promise<void> {
    this.#signal.throwIfAborted();
    await this.#deps.turns.take(bytes);
    this.#signal.throwIfAborted();
  }
}

/** Adds older files until one begins before `since`. */
async function addSince(
  opened: LogFile[],
  history: History,
  since: Instant,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const file = opened[0];
    const first = file === undefined ? undefined : await firstTime(file);
    if (first !== undefined && !isAfter(first, since)) return;
    const older = await history.older();
    if (older === undefined) return;
    opened.unshift(older);
  }
}
