// Against the API server double, as a node: what pods get, what is requested, and what happens while it is unreachable.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiServerDouble, nodeUser } from '../../test/api-server/double.ts';
import { memoryClient } from '../../test/api-server/memory-client.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { ChangedObject } from '../api/ports/pod-objects.ts';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { ClusterObjects } from './cluster-objects.ts';

describe('API objects', () => {
  let clock: FakeClock;
  let double: ApiServerDouble;
  let objects: ClusterObjects;
  let changes: string[];
  let stop: AbortController;
  let stopped: Promise<void>;
  const signal = new AbortController().signal;

  beforeEach(() => {
    clock = new FakeClock();
    double = new ApiServerDouble({ clock, schedule: false, automount: false });
    changes = [];
    stop = new AbortController();
    stopped = Promise.resolve();
    double.objects.create('nodes', { metadata: { name: 'n1' } });
  });

  afterEach(async () => {
    stop.abort();
    await stopped;
    double.close();
    expect(double.watches.size).toBe(0);
    expect(clock.pendingTimers()).toBe(0);
  });

  async function open(strategy: string): Promise<void> {
    objects = new ClusterObjects({
      api: memoryClient(double, clock, nodeUser('n1')),
      strategy,
      trustBundles: true,
      nodeName: 'n1',
      ownNode: { get: () => double.objects.get('nodes', '', 'n1') },
      clock,
      log: silentLogger,
      random: () => 0,
    });
    objects.changed.subscribe(({ kind, name }: ChangedObject) => changes.push(`${kind} ${name}`));
    ({ stopped } = await objects.start(stop.signal));
    await clock.settle();
  }

  function configMap(name: string, value: string, immutable = false): void {
    if (double.objects.get('configmaps', 'default', name) === undefined) {
      double.objects.create('configmaps', {
        metadata: { name, namespace: 'default' },
        data: { value },
        ...(immutable ? { immutable } : {}),
      });
    } else double.objects.patch('configmaps', 'default', name, { data: { value } });
  }

  function podWith(name: string, configMapName: string): Pod {
    return double.objects.create('pods', {
      metadata: { name, namespace: 'default' },
      spec: {
        nodeName: 'n1',
        containers: [{ name: 'app', image: 'app:1' }],
        volumes: [{ name: 'v', configMap: { name: configMapName } }],
      },
    });
  }

  async function valueOf(name: string): Promise<string> {
    const found = clock.until(objects.configMap('default', name, signal), 60_000);
    return await found.then(
      ({ data }) => data?.['value'] ?? '',
      (err: unknown) => (err instanceof KubeletError ? `${err.kind}: ${err.message}` : String(err)),
    );
  }

  function gets(): number {
    return double.requests.filter(({ resource }) => resource === 'configmaps').length;
  }

  describe('ClusterObjects, Watch', () => {
    test('lists an object before it is needed, and announces its changes', async () => {
      await open('Watch');
      configMap('cm', '1');
      const pod = podWith('p', 'cm');
      objects.registerPod(pod);
      expect(await valueOf('cm')).toBe('1');
      configMap('cm', '2');
      await clock.settle();
      expect(changes).toEqual(['ConfigMap cm']);
      expect(await valueOf('cm')).toBe('2');
      double.objects.delete('configmaps', 'default', 'cm');
      await clock.settle();
      expect(changes).toEqual(['ConfigMap cm', 'ConfigMap cm']);
      expect(await valueOf('cm')).toBe('not-found: configmap "cm" not found');
      expect(double.requestLines().filter((line) => line.includes('configmaps'))).toEqual([
        'watch configmaps default/cm',
      ]);
    });

    test('watches an object once for all pods, until the last is unregistered', async () => {
      await open('Watch');
      configMap('cm', '1');
      const pods = ['a', 'b'].map((name) => podWith(name, 'cm'));
      for (const pod of pods) objects.registerPod(pod);
      await valueOf('cm');
      const watched = () => [...double.watches].filter(({ type }) => type.plural === 'configmaps').length;
      expect(watched()).toBe(1);
      objects.unregisterPod(pods[0] ?? {});
      await clock.settle();
      expect(watched()).toBe(1);
      objects.unregisterPod(pods[1] ?? {});
      await clock.settle();
      expect(watched()).toBe(0);
    });

    test('watches the new object when a pod refers to another', async () => {
      await open('Watch');
      configMap('one', '1');
      configMap('two', '2');
      const pod = podWith('p', 'one');
      objects.registerPod(pod);
      await valueOf('one');
      const spec = {
        ...pod.spec,
        containers: pod.spec?.containers ?? [],
        volumes: [{ name: 'v', configMap: { name: 'two' } }],
      };
      double.objects.delete('pods', 'default', 'p', { gracePeriodSeconds: 0 });
      podWith('p', 'two');
      objects.registerPod({ ...pod, spec });
      expect(await valueOf('two')).toBe('2');
      const names = [...double.watches].map(({ type }) => type.plural).sort();
      expect(names).toEqual(['configmaps', 'runtimeclasses', 'services']);
    });

    test('stops watching an immutable object and keeps it', async () => {
      await open('Watch');
      configMap('cm', '1', true);
      objects.registerPod(podWith('p', 'cm'));
      expect(await valueOf('cm')).toBe('1');
      await clock.settle();
      expect([...double.watches].filter(({ type }) => type.plural === 'configmaps')).toEqual([]);
      double.faults.goDown();
      expect(await valueOf('cm')).toBe('1');
    });

    test('recovers when the authorizer grants access later', async () => {
      await open('Watch');
      configMap('cm', '1');
      double.faults.fail({ verb: 'list', resource: 'configmaps' }, { code: 403, times: 2 });
      objects.registerPod(podWith('p', 'cm'));
      const found = valueOf('cm');
      expect(await found).toBe('1');
      expect(clock.monotonic()).toBeLessThan(200);
    });

    test('returns listed objects while the server is unreachable, and fails with the reason for others', async () => {
      await open('Watch');
      configMap('seen', '1');
      objects.registerPod(podWith('a', 'seen'));
      await valueOf('seen');
      double.faults.goDown();
      configMap('unseen', '1');
      objects.registerPod(podWith('b', 'unseen'));
      expect(await valueOf('seen')).toBe('1');
      expect(await valueOf('unseen')).toMatch(/^unavailable: failed to sync configmap cache: .*ECONNREFUSED/);
      configMap('seen', '2');
      double.faults.comeUp();
      await clock.advance(60_000);
      expect(await valueOf('seen')).toBe('2');
      expect(await valueOf('unseen')).toBe('1');
      expect(changes).toEqual(['ConfigMap seen']);
    });

    test('fetches objects that no pod refers to by name, if authorized', async () => {
      await open('Watch');
      configMap('cm', '1');
      expect(await valueOf('cm')).toMatch(/^forbidden: .*no relationship found/);
      podWith('p', 'cm');
      expect(await valueOf('cm')).toBe('1');
    });
  });

  describe('ClusterObjects, Cache', () => {
    test('fetches an object again after its TTL, and when a pod is registered', async () => {
      await open('Cache');
      configMap('cm', '1');
      objects.registerPod(podWith('a', 'cm'));
      expect([await valueOf('cm'), await valueOf('cm'), gets()]).toEqual(['1', '1', 1]);
      configMap('cm', '2');
      expect(await valueOf('cm')).toBe('1');
      await clock.advance(60_000);
      expect([await valueOf('cm'), gets()]).toEqual(['2', 2]);
      configMap('cm', '3');
      objects.registerPod(podWith('b', 'cm'));
      expect(await valueOf('cm')).toBe('3');
    });

    test('takes the TTL from the node, and fetches immutable objects once', async () => {
      await open('Cache');
      configMap('cm', '1');
      configMap('fixed', '1', true);
      objects.registerPod(podWith('a', 'cm'));
      objects.registerPod(podWith('b', 'fixed'));
      double.objects.patch('nodes', '', 'n1', {
        metadata: { annotations: { 'node.alpha.kubernetes.io/ttl': '5' } },
      });
      await valueOf('cm');
      await valueOf('fixed');
      await clock.advance(5_000);
      await valueOf('cm');
      await valueOf('fixed');
      expect(gets()).toBe(3);
    });

    test('returns the cached object while the server is unreachable', async () => {
      await open('Cache');
      configMap('cm', '1');
      objects.registerPod(podWith('a', 'cm'));
      await valueOf('cm');
      await clock.advance(60_000);
      double.faults.goDown();
      expect(await valueOf('cm')).toBe('1');
      double.faults.comeUp();
      double.objects.delete('configmaps', 'default', 'cm');
      expect(await valueOf('cm')).toBe('not-found: configmaps "cm" not found');
    });
  });

  describe('ClusterObjects, Get', () => {
    test('fetches an object each time', async () => {
      await open('Get');
      configMap('cm', '1');
      objects.registerPod(podWith('a', 'cm'));
      await valueOf('cm');
      configMap('cm', '2');
      expect([await valueOf('cm'), gets()]).toEqual(['2', 2]);
    });
  });

  describe('ClusterObjects', () => {
    test('serves secrets by the same strategy', async () => {
      await open('Watch');
      double.objects.create('secrets', {
        metadata: { name: 's', namespace: 'default' },
        data: { k: 'dg==' },
      });
      const pod = double.objects.create('pods', {
        metadata: { name: 'p', namespace: 'default' },
        spec: {
          nodeName: 'n1',
          imagePullSecrets: [{ name: 's' }],
          containers: [{ name: 'app', image: 'app:1' }],
        },
      });
      objects.registerPod(pod);
      expect((await clock.until(objects.secret('default', 's', signal))).data).toEqual({ k: 'dg==' });
    });

    test('watches services and runtime classes', async () => {
      await open('Watch');
      const services = await objects.services(signal);
      expect(services.map(({ metadata }) => metadata?.name)).toEqual(['kubernetes']);
      double.objects.create('services', {
        metadata: { name: 'headless', namespace: 'default' },
        spec: { clusterIP: 'None' },
      });
      double.objects.create('runtimeclasses', { metadata: { name: 'kata' }, handler: 'kata' });
      await clock.settle();
      expect(await objects.services(signal)).toHaveLength(1);
      expect((await objects.runtimeClass('kata', signal)).handler).toBe('kata');
      await expect(objects.runtimeClass('none', signal)).rejects.toThrow('"none" not found');
    });

    test('waits for the list of services until the caller aborts', async () => {
      double.faults.goDown();
      await open('Watch');
      const impatient = new AbortController();
      const given = objects.services(impatient.signal).catch((err: unknown) => String(err));
      const patient = objects.services(signal);
      impatient.abort(new Error('too long'));
      expect(await given).toContain('too long');
      double.faults.comeUp();
      expect(await clock.until(patient)).toHaveLength(1);
    });

    test('fetches claims and their volumes, and returns the watched node', async () => {
      await open('Watch');
      double.objects.create('persistentvolumes', {
        metadata: { name: 'pv' },
        spec: { claimRef: { namespace: 'default', name: 'claim' } },
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
      const claim = await objects.persistentVolumeClaim('default', 'claim', signal);
      expect(claim.spec?.volumeName).toBe('pv');
      expect((await objects.persistentVolume('pv', signal)).metadata?.name).toBe('pv');
      expect((await objects.node(signal)).metadata?.name).toBe('n1');
    });
  });
});
