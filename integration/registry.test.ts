// The rig's registry, pulled from by a real containerd: images, authentication and injected faults.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { buildImage, type OciImage } from './rig/oci.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';

describeOnRig('registry', () => {
  let rig: Rig;
  let image: OciImage;
  let count = 0;

  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    rig.registry.requireAuth(undefined);
    // A different image each time, since containerd does not pull what it has.
    image = await buildImage({
      layers: [[{ path: 'data', content: `${count++}`.padEnd(4096) }]],
      command: ['/none'],
    });
    rig.registry.requests.length = 0;
  });

  const pull = async (name: string, auth?: { readonly username: string; readonly password: string }) => {
    const { imageRef } = await rig.cri.pullImage({ image: { image: name }, auth });
    const { image: found } = await rig.cri.imageStatus({ image: { image: name } });
    return { imageRef, digests: found?.repoDigests };
  };
  const config = (): string => image.blobs[0]?.digest ?? '';

  test('serves an image by tag and by digest', async () => {
    const name = rig.registry.add('team/app:1', image);
    const expected = [`${rig.registry.host}/team/app@${image.manifest.digest}`];
    expect(await pull(name)).toEqual({ imageRef: config(), digests: expected });
    expect(await pull(expected[0] ?? '')).toEqual({ imageRef: config(), digests: expected });
  });

  test('replaces every other registry', async () => {
    rig.registry.add('team/app:2', image);
    expect((await pull('example.com/team/app:2')).imageRef).toBe(config());
    expect(rig.registry.requests.length).toBeGreaterThan(0);
  });

  for (const scheme of ['basic', 'token'] as const) {
    test(`requires credentials: ${scheme}`, async () => {
      const name = rig.registry.add(`private/${scheme}:1`, image);
      rig.registry.requireAuth({ scheme, username: 'ann', password: 'secret' });
      await expect(pull(name)).rejects.toThrow(/401|authorization|credentials/i);
      await expect(pull(name, { username: 'ann', password: 'wrong' })).rejects.toThrow(/401|authorization/i);
      expect((await pull(name, { username: 'ann', password: 'secret' })).imageRef).toBe(config());
    });
  }

  test('rejects an image that was not added', async () => {
    await expect(pull(`${rig.registry.host}/no/such:1`)).rejects.toThrow(/not found/);
  });

  test('applies faults in order, then works', async () => {
    const name = rig.registry.add('faulty/app:1', image);
    // Not those of a server that is down: containerd 2 retries them within the pull.
    rig.registry.addFault(
      { do: 'status', status: 400, on: 'manifest' },
      { do: 'status', status: 410, on: 'manifest' },
    );
    await expect(pull(name)).rejects.toThrow(/400/);
    await expect(pull(name)).rejects.toThrow(/410/);
    expect((await pull(name)).imageRef).toBe(config());
  });

  test('truncates a blob', async () => {
    const name = rig.registry.add('faulty/app:2', image);
    rig.registry.addFault(...Array.from({ length: 20 }, () => ({ do: 'truncate', on: 'blob' }) as const));
    await expect(pull(name)).rejects.toThrow();
    rig.registry.clearFaults();
    expect((await pull(name)).imageRef).toBe(config());
  });

  test('delays a response', async () => {
    const name = rig.registry.add('slow/app:1', image);
    rig.registry.addFault({ do: 'slow', ms: 500, on: 'blob' });
    const startMs = performance.now();
    await pull(name);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(500);
  });

  test('never responds', async () => {
    const name = rig.registry.add('hung/app:1', image);
    rig.registry.addFault({ do: 'hang', on: 'manifest' });
    await expect(rig.cri.pullImage({ image: { image: name } }, { timeoutMs: 300 })).rejects.toMatchObject({
      kind: 'timeout',
    });
  });
});
