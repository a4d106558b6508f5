// Answers queries of the history, newest records first. Upstream has no counterpart.
// Invariants: one query at a time reads the files, in slices; an answer has at most 1000 records and 4 MiB; torn lines are skipped.
import { raceAbort } from '../base/abort/race-abort.ts';
import { isObject } from '../base/guards.ts';
import { Slices, type SlicesDeps } from '../base/slices.ts';

interface HistoryQuery {
  readonly namespace?: string | undefined;
  readonly pod?: string | undefined;
  readonly uid?: string | undefined;
  /** At most 1000. */
  readonly limit: number;
}

interface HistoryPage {
  /** JSON of one record each, newest first. */
  readonly lines: readonly string[];
  /** Whether older records were not read. */
  readonly more: boolean;
}

interface ReadHistoryDeps extends SlicesDeps {
  readonly segments: { newestFirst(): AsyncIterable<Buffer> };
}

const maxAnswerBytes = 4 * 1024 * 1024;

export class HistoryReader {
  readonly #deps: ReadHistoryDeps;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: ReadHistoryDeps) {
    this.#deps = deps;
  }

  read(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage> {
    const page = raceAbort(this.#last, signal).then(() => this.#read(query, signal));
    this.#last = Promise.all([this.#last, page.catch(() => undefined)]);
    return page;
  }

  async #read(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage> {
    const slices = new Slices(this.#deps);
    const marks = [query.uid, query.pod].flatMap((each) =>
      each === undefined ? [] : [Buffer.from(JSON.stringify(each))],
    );
    const lines: string[] = [];
    let bytes = 0;
    for await (const line of this.#deps.segments.newestFirst()) {
      await slices.yieldIfDue();
      signal.throwIfAborted();
      // Parsing only the lines that contain the name makes a search of the whole history cheap.
      if (!marks.every((mark) => line.includes(mark))) continue;
      const text = line.toString();
      if (!matches(text, query)) continue;
      bytes += line.length;
      if (lines.length >= query.limit || bytes > maxAnswerBytes) return { lines, more: true };
      lines.push(text);
    }
    return { lines, more: false };
  }
}

function matches(text: string, { namespace, pod, uid }: HistoryQuery): boolean {
  const record = parsed(text);
  return (
    isObject(record) &&
    (namespace === undefined || record['namespace'] === namespace) &&
    (pod === undefined || record['pod'] === pod) &&
    (uid === undefined || record['uid'] === uid)
  );
}

/** Undefined for a line that was cut off. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
