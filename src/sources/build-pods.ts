// Decides where a manifest is decoded: small ones inline, larger ones in a worker thread, so that a large file never delays a
// probe or a status. Measured: YAML takes 1.3 s of CPU per MiB in block style and 3 s in flow style, proportional to its size
// and nearly all of it in the library; JSON takes a tenth of that; starting the thread takes 0.2 s.
// Both ends of the protocol with the worker are here, so that they cannot diverge.
import type { Pod } from '../api/k8s/types.ts';
import { type BuildPods, type BuiltManifest, buildManifest, type ManifestOrigin } from './manifest-pods.ts';
import type { StaticPodHashes } from './static-pod.ts';

/** Larger than nearly every manifest, and decoded faster than a thread starts. */
export const inlineBytes = 16 * 2 ** 10;

/** Size of a part of the result, in characters of JSON: receiving it takes time of the event loop, too. */
const partChars = 2 ** 17;

export interface ManifestWork {
  readonly bytes: Uint8Array;
  readonly origin: ManifestOrigin;
}

/** Decodes a manifest in the worker thread, which returns the result in parts. */
export type DecodeInWorker = (work: ManifestWork, signal: AbortSignal) => Promise<readonly BuiltManifest[]>;

export function buildPodsBySize(deps: {
  readonly hashes: StaticPodHashes;
  readonly decodeInWorker: DecodeInWorker;
}): BuildPods {
  return (bytes, origin, signal) =>
    bytes.length <= inlineBytes
      ? buildManifest(bytes, { ...origin, ...deps.hashes })
      : joinParts(deps.decodeInWorker({ bytes, origin }, signal));
}

/** Runs in the worker: yields the result in parts that are each received quickly. Never throws. */
export function* buildParts(work: ManifestWork, hashes: StaticPodHashes): Generator<BuiltManifest> {
  const { pods, ...rest } = buildManifest(work.bytes, { ...work.origin, ...hashes });
  yield { ...rest, pods: [] };
  let part: Pod[] = [];
  let chars = 0;
  for (const pod of pods) {
    const size = JSON.stringify(pod).length;
    if (part.length > 0 && chars + size > partChars) {
      yield { pods: part, adopted: [], faults: [], unknownFields: [] };
      part = [];
      chars = 0;
    }
    part.push(pod);
    chars += size;
  }
  if (part.length > 0) yield { pods: part, adopted: [], faults: [], unknownFields: [] };
}

async function joinParts(parts: Promise<readonly BuiltManifest[]>): Promise<BuiltManifest> {
  const all = await parts;
  return {
    pods: all.flatMap(({ pods }) => pods),
    adopted: all.flatMap(({ adopted }) => adopted),
    faults: all.flatMap(({ faults }) => faults),
    unknownFields: all.flatMap(({ unknownFields }) => unknownFields),
  };
}
