// Runs regular expressions on hostile text in a worker thread, which is terminated if an expression does not return.
import { Worker } from 'node:worker_threads';
import { type Attack, attacksOn } from './attacks.ts';

export interface Pattern {
  readonly source: string;
  readonly flags: string;
  /** The longest text it is applied to, if it is bounded. */
  readonly longest?: number | undefined;
}

/** Quadratic time takes seconds at this length, linear time far less than a millisecond. */
const textLength = 100_000;
/** CPU time, so that other load on the machine does not count. */
const defaultSlowMs = 1_500;
const checkEveryMs = 250;

/** Evaluated as text, so that the worker needs no file. */
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

interface Progress {
  readonly index?: number;
  readonly failed?: number;
  readonly why?: string;
  readonly done?: true;
}

function cpuMs(): number {
  const { system, user } = process.cpuUsage();
  return (user + system) / 1000;
}

/** One pattern at a time. */
export class RegexRunner {
  readonly #slowMs: number;
  #worker: Worker | undefined;

  constructor(slowMs = defaultSlowMs) {
    this.#slowMs = slowMs;
  }

  /** Describes a text on which the pattern is slow; undefined if it is fast on every attack. */
  async slowText(pattern: Pattern): Promise<string | undefined> {
    const { flags, longest = Number.POSITIVE_INFINITY, source } = pattern;
    const attacks = attacksOn(source, flags);
    if (attacks.length === 0) return undefined;
    this.#worker ??= new Worker(threadCode, { eval: true });
    const worker = this.#worker;
    const failed = await new Promise<Attack | undefined>((resolve, reject) => {
      let index = 0;
      let beganMs = cpuMs();
      // This thread only waits, so nearly all CPU time of the process is the worker's.
      const timer = setInterval(
        () => {
          if (cpuMs() - beganMs < 2 * this.#slowMs) return;
          this.#worker = undefined;
          void worker.terminate();
          end(index);
        },
        Math.min(checkEveryMs, this.#slowMs / 2),
      );
      const end = (found: number | undefined): void => {
        clearInterval(timer);
        worker.off('message', onProgress);
        worker.off('error', reject);
        resolve(found === undefined ? undefined : attacks[found]);
      };
      const onProgress = (progress: Progress): void => {
        if (progress.done === true) return end(undefined);
        if (progress.failed !== undefined) return end(progress.failed);
        index = progress.index ?? index;
        beganMs = cpuMs();
      };
      worker.on('message', onProgress);
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
