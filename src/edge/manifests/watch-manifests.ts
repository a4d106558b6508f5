// Watches manifests for the file source and collects the removed files.
import type { Clock } from '../../base/clock.ts';
import { RemovedNames } from '../files/removed-names.ts';
import { watchPath } from './watch-dir.ts';

export function watchManifests(clock: Clock) {
  return (path: string, onChange: () => void, onError: (err: unknown) => void) => {
    const removed = new RemovedNames(onError);
    const watcher = watchPath({ path, clock, onChange, onError, removed });
    return { close: () => watcher.close(), takeRemoved: () => removed.take() };
  };
}
