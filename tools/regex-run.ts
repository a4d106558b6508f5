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
/** Of processor time, so that other tasks of the machine do not count. */
const defaultSlowMs = 1_500;
const lookEveryMs = 250;

/** As text: what runs in the thread is no module of its own. */
const threadCode = `
const { parentPort } = require('node:worker_threads');
const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
parentPort.on('message', ({ source, flags, attacks, length, longest, slowMs }) => {
  const pattern = new RegExp(source, flags);
  for (const [index, { prefix, pump, suffix }] of attacks.entries()) {
    const most = Math.min(longest, Math.max(length, Math.min(pump.length * length / 2, 10 * length)));
    const text = prefix + pump.repeat(Math.ceil(most / pump.length)).slice(0, most) + suffix;
    const began = cpuMs();
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
    if (cpuMs() - began > slowMs) {
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

function cpuMs(): number {
  const { system, user } = process.cpuUsage();
  return (user + system) / 1000;
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
      let beganMs = cpuMs();
      // This thread only waits, so nearly all of the process's time is the other's.
      const timer = setInterval(
        () => {
          if (cpuMs() - beganMs < 2 * this.#slowMs) return;
          this.#worker = undefined;
          void worker.terminate();
          end(index);
        },
        Math.min(lookEveryMs, this.#slowMs / 2),
      );
      const end = (found: number | undefined): void => {
        clearInterval(timer);
        worker.off('message', hear);
        worker.off('error', reject);
        resolve(found === undefined ? undefined : attacks[found]);
      };
      const hear = (told: Told): void => {
        if (told.done === true) return end(undefined);
        if (told.failed !== undefined) return end(told.failed);
        index = told.index ?? index;
        beganMs = cpuMs();
      };
      worker.on('message', hear);
      worker.on('error', reject);
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
