import { expect, onTestFinished, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { PodRegistrations } from './pod-registrations.ts';

const uid = asPodUid('u');

async function world() {
  const calls: string[] = [];
  let pod: Pod | undefined;
  let state: PodLifecycle['state'] | undefined;
  const changed = new Channel<PodUid>();
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  await startComponent(
    new PodRegistrations({
      objects: {
        registerPod: ({ metadata }) => void calls.push(`register ${metadata?.generation}`),
        unregisterPod: ({ metadata }) => void calls.push(`unregister ${metadata?.generation}`),
      },
      desired: { get: () => pod && { pod }, changed },
      lifecycles: { get: () => (state === undefined ? undefined : ({ state } as PodLifecycle)), changed },
    }),
    abort.signal,
  );
  return {
    calls,
    set: (generation: number | undefined, next?: PodLifecycle['state']): void => {
      const base = aPod({ uid });
      if (generation === undefined) pod = undefined;
      else if (pod?.metadata?.generation !== generation)
        pod = { ...base, metadata: { ...base.metadata, generation } };
      state = next;
      changed.push(uid);
    },
  };
}

test('registers an active pod once per version', async () => {
  const { calls, set } = await world();
  set(1);
  set(1, 'syncing');
  set(2, 'syncing');
  expect(calls).toEqual(['register 1', 'register 2']);
});

test('keeps a removed pod registered until it has terminated', async () => {
  const { calls, set } = await world();
  set(1, 'syncing');
  set(undefined, 'terminating');
  expect(calls).toEqual(['register 1']);
  set(undefined, 'terminated');
  expect(calls).toEqual(['register 1', 'unregister 1']);
});

test('unregisters a finished pod that is still desired', async () => {
  const { calls, set } = await world();
  set(1, 'syncing');
  set(1, 'terminated');
  expect(calls).toEqual(['register 1', 'unregister 1']);
});
