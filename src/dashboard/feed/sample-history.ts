// The samples since the first viewer connected, as their encoded events. Invariants: at most 300 samples and 2 MiB, so fewer on a
// node with hundreds of pods; the event of all samples is made of the bytes of the single ones, without a copy.
import type { UsageSample } from '../../api/ports/node-page.ts';
import { encodeEvent } from './event-stream.ts';

const maxSamples = 300;
const maxBytes = 2 * 1024 * 1024;

const encoder = new TextEncoder();
const prefixBytes = 'event: usage\ndata: '.length;
const suffixBytes = '\n\n'.length;
const begin = encoder.encode('event: samples\ndata: [');
const comma = encoder.encode(',');
const end = encoder.encode(']\n\n');

export class SampleHistory {
  #samples: readonly Uint8Array[] = [];
  #bytes = 0;

  /** Returns the event of this sample. */
  add(sample: UsageSample): Uint8Array {
    const event = encodeEvent('usage', sample);
    const samples = [...this.#samples, event.subarray(prefixBytes, event.length - suffixBytes)];
    this.#bytes += event.length;
    while (samples.length > maxSamples || (this.#bytes > maxBytes && samples.length > 1)) {
      this.#bytes -= (samples.shift()?.length ?? 0) + prefixBytes + suffixBytes;
    }
    this.#samples = samples;
    return event;
  }

  /** The event of all samples up to now, oldest first. Later samples are not in it, whenever it is read. */
  level(): () => Iterable<Uint8Array> {
    const samples = this.#samples;
    return () => piecesOf(samples);
  }
}

function* piecesOf(samples: readonly Uint8Array[]): Iterable<Uint8Array> {
  yield begin;
  for (const [index, sample] of samples.entries()) {
    if (index > 0) yield comma;
    yield sample;
  }
  yield end;
}
