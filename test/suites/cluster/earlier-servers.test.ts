// Whole kubelets with API servers of earlier releases, which drop fields they do not know, and without streamed lists: no
// field causes a request again and again, and the pods work.
import { describe, expect, onTestFinished, test } from 'vitest';
import { aContainer } from '../../builders/builders.ts';
import { ClusterWorld } from '../../simulate/cluster-world.ts';

const quarterHourMs = 15 * 60_000;

async function start(server: { minor?: number; watchLists?: boolean } = {}): Promise<ClusterWorld> {
  const world = new ClusterWorld({ server });
  onTestFinished(() => world.close());
  await world.node.start();
  world.run('p', {
    containers: [
      aContainer({
        resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '64Mi' } },
      }),
    ],
    resources: { requests: { cpu: '500m', memory: '128Mi' }, limits: { cpu: '1', memory: '256Mi' } },
  });
  await world.advance(30_000);
  return world;
}

const writes = (world: ClusterWorld): readonly string[] =>
  world.api.requestLines().filter((line) => /^(patch|update|create) (pods|nodes)/.test(line));

const skewWarnings = (world: ClusterWorld): readonly string[] =>
  world.node.logged('Versions of kubelet and API server are not supported together');

for (const minor of [34, 35, 36, 37])
  describe(`an API server of 1.${minor}`, () => {
    test('runs pods, and is sent nothing again and again', async () => {
      const world = await start({ minor });
      expect([world.phase('p'), world.ready('p')]).toEqual(['Running', 'True']);
      await world.advance(quarterHourMs);
      const before = writes(world).length;
      await world.advance(quarterHourMs);
      // The periodic reports of the node, every five minutes, and repetitions of a dropped pod field, every ten.
      expect(writes(world).length - before).toBeLessThanOrEqual(3 + 2);
      expect(world.forbidden()).toEqual([]);
    });

    test('removes a pod that is deleted', async () => {
      const world = await start({ minor });
      world.delete('p', 1);
      await world.advance(30_000);
      expect(world.pod('p')).toBeUndefined();
    });

    test('is warned about once if it is older than the kubelet', async () => {
      const world = await start({ minor });
      await world.advance(quarterHourMs);
      expect(skewWarnings(world)).toHaveLength(minor < 37 ? 1 : 0);
      expect(world.api.versionRequests).toBe(1);
    });
  });

test('a server without streamed lists is used by plain lists', async () => {
  const world = await start({ minor: 35, watchLists: false });
  expect(world.ready('p')).toBe('True');
  const refused = world.api.requests.filter(({ code }) => code === 422);
  // The reflectors of a start begin at the same time.
  expect(refused.length).toBeLessThanOrEqual(6);
  await world.advance(quarterHourMs);
  expect(world.api.requests.filter(({ code }) => code === 422).length).toBeLessThanOrEqual(
    refused.length + 1,
  );
});

test('a restart of the kubelet sends a dropped field once, and a restart of the server none', async () => {
  const world = await start({ minor: 34 });
  await world.advance(quarterHourMs);
  const before = writes(world).length;
  await world.node.kill();
  await world.node.start();
  await world.advance(60_000);
  expect(writes(world).length - before).toBeLessThanOrEqual(6);
  world.api.faults.goDown();
  await world.advance(60_000);
  world.api.faults.comeUp();
  const outage = writes(world).length;
  await world.advance(quarterHourMs);
  expect(writes(world).length - outage).toBeLessThanOrEqual(3 + 5);
});
