// Decides where a manifest is read: small ones at once, larger ones outside the event loop, so that one large file never
// delays a probe or a status. Measured: YAML costs 1.3 s of CPU per MiB in block style and 3 s in flow style, all of it
// in proportion to its size and nearly all in the library; JSON a tenth of that; to start the other thread, 0.2 s.
// The two ends of the way to the other thread are here, so that they cannot differ.
import type { Pod } from '../api/k8s/types.ts';
import { type MadeManifest, type MakePods, type ManifestOrigin, makeManifest } from './manifest-pods.ts';
import type { ComputeHash } from './static-pod.ts';

/** Larger than nearly every manifest, and read in less than the start of a thread takes. */
export const inlineBytes = 16 * 2 ** 10;

/** How much of the answer is taken over at once, in characters of JSON: to take it over costs the event loop time, too. */
const partChars = 2 ** 17;

export interface ManifestWork {
  readonly bytes: Uint8Array;
  readonly origin: ManifestOrigin;
}

/** Sends work to another thread, which answers in parts. */
export type DecodeInWorker = (work: ManifestWork, signal: AbortSignal) => Promise<readonly MadeManifest[]>;

export function makePodsBySize(deps: {
  readonly computeHash: ComputeHash;
  readonly decodeInWorker: DecodeInWorker;
}): MakePods {
  return (bytes, origin, signal) =>
    bytes.length <= inlineBytes
      ? makeManifest(bytes, { ...origin, computeHash: deps.computeHash })
      : joinParts(deps.decodeInWorker({ bytes, origin }, signal));
}

/** For the other thread: the answer in parts that are each quickly taken over. Never throws. */
export function* makeParts(work: ManifestWork, computeHash: ComputeHash): Generator<MadeManifest> {
  const { pods, ...rest } = makeManifest(work.bytes, { ...work.origin, computeHash });
  yield { ...rest, pods: [] };
  let part: Pod[] = [];
  let chars = 0;
  for (const pod of pods) {
    const size = JSON.stringify(pod).length;
    if (part.length > 0 && chars + size > partChars) {
      yield { pods: part, faults: [], unknownFields: [] };
      part = [];
      chars = 0;
    }
    part.push(pod);
    chars += size;
  }
  if (part.length > 0) yield { pods: part, faults: [], unknownFields: [] };
}

async function joinParts(parts: Promise<readonly MadeManifest[]>): Promise<MadeManifest> {
  const all = await parts;
  return {
    pods: all.flatMap(({ pods }) => pods),
    faults: all.flatMap(({ faults }) => faults),
    unknownFields: all.flatMap(({ unknownFields }) => unknownFields),
  };
}
