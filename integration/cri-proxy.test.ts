// The proxy between a kubelet and its runtime: transparent until it is told otherwise.
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { realClock } from '../src/base/clock.ts';
import { type CriClient, criClient } from '../src/edge/cri/client.ts';
import { CriProxy } from './rig/cri-proxy.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';

describeOnRig('cri proxy', () => {
  let rig: Rig;
  let proxy: CriProxy;
  let cri: CriClient;

  beforeAll(async () => {
    rig = await startRig();
    proxy = new CriProxy(join(rig.ground.dir, 'proxy.sock'), rig.containerd.paths.socket);
    await proxy.start();
    cri = criClient({ runtimeEndpoint: `unix://${proxy.socket}`, clock: realClock });
  });
  afterAll(async () => {
    cri.close();
    await proxy.stop();
    await rig.stop();
  });
  beforeEach(() => proxy.setFaults());

  test('passes answers and refusals on', async () => {
    expect(await cri.version({})).toEqual(await rig.cri.version({}));
    const both = [cri, rig.cri].map((each) =>
      each.containerStatus({ containerId: 'none' }).then(
        () => 'found',
        (err: Error) => err.message,
      ),
    );
    const [through, direct] = await Promise.all(both);
    expect(through).toBe(direct);
    expect(through).toContain('not found');
  });

  test('holds the call that is meant, and no other', async () => {
    proxy.setFaults({ method: 'ContainerStatus', containing: 'stuck', do: 'hold' });
    const stuck = cri.containerStatus({ containerId: 'stuck' }, { timeoutMs: 300 });
    await expect(cri.containerStatus({ containerId: 'free' })).rejects.toMatchObject({ kind: 'not-found' });
    await expect(stuck).rejects.toMatchObject({ kind: 'timeout' });
  });

  test('fails as often as it is told', async () => {
    proxy.setFaults({ method: 'Version', do: 'fail', times: 1 });
    await expect(cri.version({})).rejects.toThrow('ordered fault');
    expect((await cri.version({})).runtimeName).toBe('containerd');
  });

  test('delays', async () => {
    proxy.setFaults({ method: 'Version', do: 'delay', delayMs: 200 });
    const startMs = performance.now();
    await cri.version({});
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(195);
  });

  test('survives a restart of the runtime', async () => {
    await rig.containerd.stop();
    await expect(cri.version({}, { timeoutMs: 500 })).rejects.toThrow();
    await rig.containerd.start();
    expect((await cri.version({}, { timeoutMs: 5000 })).runtimeName).toBe('containerd');
  });
});
