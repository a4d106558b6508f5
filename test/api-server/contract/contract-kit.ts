// The kit of the API server contract: a namespace for each suite and clients of several users. The contract runs on the
// double and on any real server, so that the double cannot diverge from what it stands for.

import type { Pod } from '../../../src/api/k8s/types.ts';
import type { ApiClient, WatchEvent } from '../../../src/api/ports/api-client.ts';
import { apiPath } from '../../../src/api/ports/api-client.ts';
import { KubeletError } from '../../../src/base/errors.ts';

export interface ContractRig {
  readonly admin: ApiClient;
  readonly asNode: (name: string) => ApiClient;
  readonly asBootstrapper: () => ApiClient;
  /** Whether the server may still hold history from before its last compaction. */
  readonly keepsHistory?: boolean;
  /** Closes what the rig itself opened. */
  readonly close: () => Promise<void>;
}

export interface ContractContext extends ContractRig {
  readonly signal: AbortSignal;
  readonly namespace: string;
  /** The path of `pods`, `pods/x/status` in the namespace of the suite. */
  readonly path: (...segments: readonly string[]) => string;
}

export async function openContext(rig: ContractRig): Promise<ContractContext & { clear(): Promise<void> }> {
  const abort = new AbortController();
  const { signal } = abort;
  const namespace = `contract-${Math.random().toString(36).slice(2, 10)}`;
  await rig.admin.create('/api/v1/namespaces', { metadata: { name: namespace } }, { signal });
  await untilExists(
    rig.admin,
    apiPath('api', 'v1', 'namespaces', namespace, 'serviceaccounts', 'default'),
    signal,
  );
  return {
    admin: rig.admin,
    asNode: (name) => rig.asNode(name),
    asBootstrapper: () => rig.asBootstrapper(),
    keepsHistory: rig.keepsHistory ?? false,
    close: () => rig.close(),
    signal,
    namespace,
    path: (...segments) => apiPath('api', 'v1', 'namespaces', namespace, ...segments),
    clear: async () => {
      const pods = await rig.admin.list<Pod>(apiPath('api', 'v1', 'namespaces', namespace, 'pods'), {
        signal,
      });
      for (const { metadata } of pods.items ?? []) {
        const path = apiPath('api', 'v1', 'namespaces', namespace, 'pods', metadata?.name ?? '');
        await rig.admin.patch(path, 'merge', { metadata: { finalizers: null } }, { signal });
        await rig.admin.delete(path, { gracePeriodSeconds: 0 }, { signal }).catch(ignoreNotFound);
      }
      await rig.admin.delete(`/api/v1/namespaces/${namespace}`, {}, { signal });
      abort.abort();
    },
  };
}

function ignoreNotFound(err: unknown): void {
  if (!(err instanceof KubeletError && err.kind === 'not-found')) throw err;
}

/** Waits for an object that a controller creates some moments after the namespace. */
async function untilExists(client: ApiClient, path: string, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const found = await client.get(path, { signal }).then(
      () => true,
      () => false,
    );
    if (found) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`timed out waiting for ${path} to exist`);
}

export function contractPod(name: string, spec: Partial<Pod['spec']> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'app', image: 'registry.example/app:1' }], ...spec },
  };
}

/** The reason of the error that the call fails with, or its unexpected result. */
export async function reasonOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no error',
    (err: unknown) => (err instanceof KubeletError ? err.reason : String(err)),
  );
}

/** The next `count` events, without bookmarks. */
export async function takeEvents<T>(events: AsyncIterable<WatchEvent<T>>, count: number): Promise<string[]> {
  const seen: string[] = [];
  if (count === 0) return seen;
  for await (const event of events) {
    if (event.type === 'BOOKMARK') continue;
    const { metadata } = event.object as Pod;
    seen.push(`${event.type} ${metadata?.name}`);
    if (seen.length === count) break;
  }
  return seen;
}
