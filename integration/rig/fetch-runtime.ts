// Runs before the first test file: downloads the container runtime that RIG_CONTAINERD selects, if it is not in the cache.
import { fetchRuntime } from '../../tools/runtimes/fetch-runtime.ts';
import { selectedRelease } from '../../tools/runtimes/select-runtime.ts';
import { repositoryRoot } from './repository.ts';

export async function setup(): Promise<void> {
  const name = selectedRelease();
  if (name !== undefined) await fetchRuntime(repositoryRoot(), name);
}
