// Runs regular expressions on hard text in a thread of its own, which is ended when one of them does not come back.
import { Worker } from 'node:worker_threads';
import { type Attack, attacksOn } from './regex-attacks.ts';

export interface Pattern {
  readonly source: string;
  readonly flags: string;
  /** The longest text that it meets, where that is known. */
  readonly longest?: number | undefined;
}

/** Long enough that a step per pair of characters takes seconds, and one per character far less than a millisecond. */
const textLength = 100_000;
/** Even on a machine with many other tasks. */
const defaultSlowMs = 1_500;

/** As text: what runs in the thread is no module of its own. */
const threadCode = `
const { parentPort } = require('node:worker_threads');
parentPort.on('message', ({ source, flags, attacks, length, longest, slowMs }) => {
  const pattern = new RegExp(source, flags);
  for (const [index, { prefix, pump, suffix }] of attacks.entries()) {
    const most = Math.min(longest, Math.max(length, Math.min(pump.length * length / 2, 10 * length)));
    const text = prefix + pump.repeat(Math.ceil(most / pump.length)).slice(0, most) + suffix;
    const began = performance.now();
    parentPort.postMessage({ index });
    try {
      if (pattern.sticky) { pattern.lastIndex = 0; let last = -1;
        while (pattern.lastIndex !== last && pattern.test(text)) last = pattern.lastIndex;
      } else if (pattern.global) text.replace(pattern, '');
      else pattern.test(text);
    } catch (err) {
      parentPort.postMessage({ failed: index, why: String(err) });
      return;
    }
    if (performance.now() - began > slowMs) {
      parentPort.postMessage({ failed: index, why: 'took too long' });
      return;
    }
  }
  parentPort.postMessage({ done: true });
});`;

interface Told {
  readonly index?: number;
  readonly failed?: number;
  readonly why?: string;
  readonly done?: true;
}

/** What is slow, in words; undefined for a pattern that is fast on everything. One pattern at a time. */
export class RegexRunner {
  readonly #slowMs: number;
  #worker: Worker | undefined;

  constructor(slowMs = defaultSlowMs) {
    this.#slowMs = slowMs;
  }

  async slowText(pattern: Pattern): Promise<string | undefined> {
    const { flags, longest = Number.POSITIVE_INFINITY, source } = pattern;
    const attacks = attacksOn(source, flags);
    if (attacks.length === 0) return undefined;
    this.#worker ??= new Worker(threadCode, { eval: true });
    const worker = this.#worker;
    const failed = await new Promise<Attack | undefined>((resolve, reject) => {
      let index = 0;
      let timer: NodeJS.Timeout | undefined;
      const end = (found: number | undefined): void => {
        clearTimeout(timer);
        worker.off('message', hear);
        worker.off('error', reject);
        resolve(found === undefined ? undefined : attacks[found]);
      };
      const wait = (): void => {
        clearTimeout(timer);
        timer = setTimeout(() => {
          this.#worker = undefined;
          void worker.terminate();
          end(index);
        }, 2 * this.#slowMs);
      };
      const hear = (told: Told): void => {
        if (told.done === true) return end(undefined);
        if (told.failed !== undefined) return end(told.failed);
        index = told.index ?? index;
        wait();
      };
      worker.on('message', hear);
      worker.on('error', reject);
      wait();
      worker.postMessage({ source, flags, attacks, length: textLength, longest, slowMs: this.#slowMs }, []);
    });
    if (failed === undefined) return undefined;
    const { prefix, pump, suffix } = failed;
    return `${JSON.stringify(prefix)} + ${JSON.stringify(pump)} × many + ${JSON.stringify(suffix)}`;
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }
}
