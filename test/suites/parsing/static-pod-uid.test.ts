// UIDs of static pods, from the manifest on, against UIDs computed by upstream's code: decoding and defaulting must not
// change the hashed fields. The golden pods are already defaulted, so defaulting must not change them further.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { staticPodUid } from '../../../src/api/pod/static-pod-hash/compute.ts';
import { decodeManifest } from '../../../src/sources/decode/decode-manifest.ts';
import { buildStaticPod } from '../../../src/sources/static-pod.ts';

interface Golden {
  readonly name: string;
  readonly uids: Readonly<Record<string, string>>;
  readonly nodeName: string;
  readonly source: string;
  readonly isFile: boolean;
  readonly pod: object;
  readonly written?: object;
}

const goldens = ['kubeadm', 'containers', 'probes', 'security', 'volumes', 'placement', 'quantities', 'edges']
  .map((file) => new URL(`../../../src/api/pod/static-pod-hash/golden/${file}.json`, import.meta.url))
  .flatMap((url) => JSON.parse(readFileSync(url, 'utf8')) as readonly Golden[]);

describe('a manifest has the same UID as upstream', () => {
  test.each(goldens)('$name', ({ pod, written, uids, nodeName, source, isFile }) => {
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...(written ?? pod) });
    const { pods, faults } = decodeManifest(Buffer.from(text));
    expect(faults).toEqual([]);
    const hashes: string[] = [];
    for (const manifest of pods)
      buildStaticPod(manifest, {
        nodeName,
        source: isFile ? 'file' : 'http',
        origin: source,
        nowMs: 0,
        computeHash: (...args) => {
          hashes.push(staticPodUid(...args));
          return 'u';
        },
      });
    expect(hashes).toEqual([uids['1.37']]);
  });
});
