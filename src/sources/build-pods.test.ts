import { describe, expect, test } from 'vitest';
import { buildParts, buildPodsBySize, inlineBytes } from './build-pods.ts';
import { buildManifest, type ManifestOrigin } from './manifest-pods.ts';

const origin: ManifestOrigin = {
  nodeName: 'n',
  source: 'file',
  origin: '/m/a',
  nowMs: 0,
};
const computeHash = (): string => 'uid';

function podList(count: number, valueChars: number): Uint8Array {
  const items = Array.from({ length: count }, (_, i) => ({
    metadata: { name: `p${i}` },
    spec: { containers: [{ name: 'c', image: 'i', args: ['x'.repeat(valueChars)] }] },
  }));
  const bad = { metadata: { name: 'bad' }, spec: {}, unknown: 1 };
  return Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [...items, bad] }));
}

describe('buildParts', () => {
  test('yields the result of buildManifest in parts of bounded size that can be cloned to another thread', () => {
    const bytes = podList(30, 20_000);
    const parts = structuredClone([...buildParts({ bytes, origin }, { computeHash })]);
    expect(parts.map((part) => part.pods.length)).toEqual([0, 6, 6, 6, 6, 6]);
    const whole = buildManifest(bytes, { ...origin, computeHash });
    expect(whole.pods).toHaveLength(30);
    expect(whole.faults).toHaveLength(1);
    expect(whole.unknownFields).toHaveLength(1);
    expect(parts.flatMap((part) => part.pods)).toEqual(whole.pods);
    expect(parts.flatMap((part) => part.faults)).toEqual(whole.faults);
    expect(parts.flatMap((part) => part.unknownFields)).toEqual(whole.unknownFields);
  });

  test('yields a larger pod as a part of its own', () => {
    const parts = [...buildParts({ bytes: podList(3, 200_000), origin }, { computeHash })];
    expect(parts.map((part) => part.pods.length)).toEqual([0, 1, 1, 1]);
  });
});

describe('buildPodsBySize', () => {
  const never = new AbortController().signal;

  test('decodes small manifests inline', () => {
    const buildPods = buildPodsBySize({
      hashes: { computeHash },
      decodeInWorker: () => Promise.reject(new Error('must not be called')),
    });
    expect(buildPods(podList(1, 10), origin, never)).toMatchObject({
      pods: [{ metadata: { name: 'p0-n' } }],
    });
  });

  test('decodes larger manifests in the worker and joins the parts', async () => {
    const asked: unknown[] = [];
    const bytes = podList(10, 20_000);
    const buildPods = buildPodsBySize({
      hashes: { computeHash: () => 'not asked here' },
      decodeInWorker: async (work, signal) => {
        asked.push([work.bytes === bytes, work.origin, signal === never]);
        return [...buildParts(work, { computeHash })];
      },
    });
    expect(bytes.length).toBeGreaterThan(inlineBytes);
    await expect(buildPods(bytes, origin, never)).resolves.toEqual(
      buildManifest(bytes, { ...origin, computeHash }),
    );
    expect(asked).toEqual([[true, origin, true]]);
  });
});
