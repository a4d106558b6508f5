// A static pod that ends slowly, for tests of its mirror pod.
import { expect } from 'vitest';
import type { Pod } from '../../src/api/k8s/types.ts';
import { aContainer, aPod, type PodOver } from '../builders/builders.ts';
import type { ClusterWorld } from './cluster-world.ts';

const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** Ignores SIGTERM, so that it ends with its grace period of 20 s. */
export const graceful = (uid: string, over: PodOver = {}): Pod =>
  aPod({
    name: 'web',
    uid,
    terminationGracePeriodSeconds: 20,
    containers: [aContainer({ command: ['sh', '-c', 'trap "" TERM; sleep 100000'] })],
    ...over,
  });

export function shown(world: ClusterWorld, name = 'web-n'): readonly unknown[] {
  const pod = world.pod(name);
  return [pod?.metadata?.uid, pod?.status?.phase, pod?.metadata?.annotations?.[mirrorAnnotation]];
}

export async function running(world: ClusterWorld, uid: string): Promise<readonly unknown[]> {
  world.node.write('web.json', graceful(uid));
  await world.advance(5_000);
  const before = shown(world);
  expect(before).toEqual([expect.any(String), 'Running', uid]);
  return before;
}

/** Checks every 200 ms, as upstream's specs do. */
export async function expectUnchanged(
  world: ClusterWorld,
  before: readonly unknown[],
  ms: number,
): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 200) {
    expect([passedMs, ...shown(world)]).toEqual([passedMs, ...before]);
    await world.advance(200);
  }
}
