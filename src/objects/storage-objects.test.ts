// Against the API server double, as a node.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiServerDouble, nodeUser } from '../../test/api-server/double.ts';
import { memoryClient } from '../../test/api-server/memory-client.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { clusterStorage } from '../../test/simulate/csi-world.ts';
import { startComponent } from '../base/component.ts';
import { standaloneStorage } from './standalone-storage.ts';
import type { ClusterStorage } from './storage-objects.ts';

const { signal } = new AbortController();
describe('StorageObjects', () => {
  let clock: FakeClock;
  let double: ApiServerDouble;
  let storage: ClusterStorage;
  let changes: string[];
  let stop: AbortController;
  let stopped: Promise<void>;

  beforeEach(() => {
    clock = new FakeClock();
    double = new ApiServerDouble({ clock, schedule: false, automount: false });
    storage = clusterStorage(memoryClient(double, clock, nodeUser('n1')));
    changes = [];
    storage.csiDriversChanged.subscribe((name) => void changes.push(name));
    stop = new AbortController();
    stopped = Promise.resolve();
  });

  afterEach(async () => {
    stop.abort();
    await stopped;
    double.close();
    expect([double.watches.size, clock.pendingTimers()]).toEqual([0, 0]);
  });

  async function start(): Promise<void> {
    ({ stopped } = await startComponent(storage, stop.signal));
    await clock.settle();
  }

  const driver = (name: string, attachRequired = true) => ({ metadata: { name }, spec: { attachRequired } });

  test('CSIDrivers come from the watch, and each change is announced after it can be read', async () => {
    double.objects.create('csidrivers', driver('a'));
    await start();
    expect([changes, storage.knownCsiDriver('b')]).toEqual([['a'], undefined]);
    expect((await storage.csiDriver('a', signal))?.spec.attachRequired).toBe(true);
    storage.csiDriversChanged.subscribe((name) => {
      const known = storage.knownCsiDriver(name);
      changes.push(`${known === 'unknown' ? known : known?.spec.attachRequired}`);
    });
    double.objects.update('csidrivers', driver('a', false));
    double.objects.delete('csidrivers', '', 'a');
    await clock.settle();
    expect(changes.slice(1)).toEqual(['a', 'false', 'a', 'undefined']);
    expect(await storage.csiDriver('a', signal)).toBeUndefined();
  });

  test('a list after a lost watch announces deleted objects too', async () => {
    double.objects.create('csidrivers', driver('a'));
    double.objects.create('csidrivers', driver('b'));
    await start();
    double.faults.goDown();
    double.objects.delete('csidrivers', '', 'a');
    double.faults.comeUp();
    await clock.advance(60_000);
    expect(storage.knownCsiDriver('a')).toBeUndefined();
    expect(changes.filter((name) => name === 'a').length).toBeGreaterThan(1);
  });

  test('only the caller waits for the first list, until its signal', async () => {
    double.faults.goDown();
    await start();
    expect(storage.knownCsiDriver('a')).toBe('unknown');
    const impatient = new AbortController();
    const given = storage.csiDriver('a', impatient.signal).catch((err: unknown) => String(err));
    const patient = storage.csiDriver('a', signal);
    impatient.abort(new Error('too long'));
    expect(await given).toContain('too long');
    double.objects.create('csidrivers', driver('a'));
    double.faults.comeUp();
    expect((await clock.until(patient))?.metadata?.name).toBe('a');
  });

  test('attachments and secrets are read on every call, and nothing of them is listed or watched', async () => {
    await start();
    const spec = { attacher: 'd', nodeName: 'n1', source: { persistentVolumeName: 'pv' } };
    double.objects.create('volumeattachments', { metadata: { name: 'csi-1' }, spec });
    const attached = async () => (await storage.volumeAttachment('csi-1', signal)).status?.attached;
    expect(await attached()).toBeUndefined();
    double.objects.patch('volumeattachments', '', 'csi-1', { status: { attached: true } }, 'status');
    expect(await attached()).toBe(true);
    claimed();
    double.objects.create('secrets', { metadata: { name: 's', namespace: 'default' }, data: { k: 'dg==' } });
    expect((await storage.volumeSecret('default', 's', signal)).data).toEqual({ k: 'dg==' });
    double.objects.patch('secrets', 'default', 's', { data: { k: 'eA==' } });
    expect((await storage.volumeSecret('default', 's', signal)).data).toEqual({ k: 'eA==' });
    const lines = double.requestLines().filter((line) => !line.includes('csidrivers'));
    expect(lines).toEqual([
      'get volumeattachments csi-1',
      'get volumeattachments csi-1',
      'get secrets default/s',
      'get secrets default/s',
    ]);
  });

  test('the status of a claim is patched', async () => {
    await start();
    claimed();
    const patch = {
      status: {
        capacity: { storage: '2Gi' },
        conditions: [{ type: 'NodeResizeError', status: 'True', message: 'm' }],
        allocatedResourceStatuses: { storage: 'NodeResizeInProgress' },
      },
    };
    const claim = await storage.patchClaimStatus('default', 'claim', patch, signal);
    expect(claim.status).toMatchObject(patch.status);
    const forbidden = storage.patchClaimStatus('default', 'claim', { status: { phase: 'Lost' } }, signal);
    await expect(forbidden).rejects.toThrow('is not allowed to update fields other than');
  });

  test('a standalone node rejects every request', async () => {
    const text = /^couldn't get .*, no kubeClient defined$/;
    await expect(standaloneStorage.csiDriver('d', signal)).rejects.toThrow(text);
    await expect(standaloneStorage.volumeAttachment('d', signal)).rejects.toThrow(text);
    await expect(standaloneStorage.volumeSecret('n', 's', signal)).rejects.toThrow(text);
    await expect(standaloneStorage.patchClaimStatus('n', 'c', {}, signal)).rejects.toThrow(text);
    expect(standaloneStorage.knownCsiDriver('d')).toBe('unknown');
  });

  /** A pod of the node with a claim, whose volume names the secret. */
  function claimed(): void {
    double.objects.create('nodes', { metadata: { name: 'n1' } });
    const csi = {
      driver: 'd',
      volumeHandle: 'h',
      nodeStageSecretRef: { namespace: 'default', name: 's' },
    };
    double.objects.create('persistentvolumes', {
      metadata: { name: 'pv' },
      spec: { csi, claimRef: { namespace: 'default', name: 'claim' } },
    });
    double.objects.create('persistentvolumeclaims', {
      metadata: { name: 'claim', namespace: 'default' },
      spec: { volumeName: 'pv' },
    });
    double.objects.create('pods', {
      metadata: { name: 'p', namespace: 'default' },
      spec: {
        nodeName: 'n1',
        containers: [{ name: 'app', image: 'app:1' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }],
      },
    });
  }
});
