// The results of every probe over time, for the node's page: equal results in a row are one run. No counterpart upstream.
// Owns ProbeRuns (sole writer: the probe workers). Invariants: at most 20 runs per probe, the oldest make room; the output of a
// probe is truncated before anything else is done with it; the runs outlive a restart of the container, not the probe.
// Costs of a result that is like the one before: a counter and two numbers, 0.2 µs. A probe with one run has some 600 bytes, each
// further run 100, or 300 with an output.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { ProbeKind, ProbeRun, ProbeStrip } from '../api/ports/node-page.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { shortText } from '../base/short-text.ts';
import type { Store } from '../base/store.ts';

interface ProbeOf {
  readonly uid: PodUid;
  readonly container: string;
  readonly kind: ProbeKind;
}

interface RecordedResult {
  readonly result: ProbeRun['result'];
  readonly seconds: number;
  readonly output?: string;
  readonly periodSeconds: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

interface Strip {
  readonly container: string;
  readonly kind: ProbeKind;
  periodSeconds: number;
  readonly runs: Mutable<ProbeRun>[];
}

const maxRuns = 20;
const maxOutputBytes = 200;

export class ProbeRuns implements Store {
  readonly storeName = 'ProbeRuns';
  readonly writer = 'probes';
  /** Announces a pod after each result of one of its probes. */
  readonly changed = new Channel<PodUid>();
  readonly #clock: Pick<Clock, 'now'>;
  /** By container and kind. */
  readonly #pods = new Map<PodUid, Map<string, Strip>>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  of(uid: PodUid): readonly ProbeStrip[] {
    const strips = [...(this.#pods.get(uid)?.values() ?? [])];
    return strips.map((strip) => ({ ...strip, runs: strip.runs.map((run) => ({ ...run })) }));
  }

  record(probe: ProbeOf, { output, periodSeconds, result, seconds }: RecordedResult): void {
    const strip = this.#strip(probe);
    strip.periodSeconds = periodSeconds;
    const nowMs = this.#clock.now();
    const tookMs = Math.round(seconds * 1_000);
    const run = strip.runs.at(-1);
    if (run?.result === result) {
      run.count++;
      run.lastMs = nowMs;
      if (tookMs > run.slowestMs) run.slowestMs = tookMs;
      if (output !== undefined) run.output = shortText(output, maxOutputBytes);
    } else {
      const text = output === undefined ? {} : { output: shortText(output, maxOutputBytes) };
      strip.runs.push({ result, count: 1, firstMs: nowMs, lastMs: nowMs, slowestMs: tookMs, ...text });
      if (strip.runs.length > maxRuns) strip.runs.shift();
    }
    this.changed.push(probe.uid);
  }

  /** The pod or this probe of it was removed. */
  forget({ container, kind, uid }: ProbeOf): void {
    const strips = this.#pods.get(uid);
    if (strips?.delete(`${container}/${kind}`) !== true) return;
    if (strips.size === 0) this.#pods.delete(uid);
    this.changed.push(uid);
  }

  /** How many pods have results; for leak checks. */
  get size(): number {
    return this.#pods.size;
  }

  #strip({ container, kind, uid }: ProbeOf): Strip {
    let strips = this.#pods.get(uid);
    if (strips === undefined) this.#pods.set(uid, (strips = new Map<string, Strip>()));
    const key = `${container}/${kind}`;
    let strip = strips.get(key);
    if (strip === undefined) strips.set(key, (strip = { container, kind, periodSeconds: 0, runs: [] }));
    return strip;
  }
}
