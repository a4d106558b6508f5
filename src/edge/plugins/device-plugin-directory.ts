// The directory of device plugins: their sockets and the kubelet's. Upstream: CleanupPluginDirectory in
// pkg/kubelet/cm/devicemanager/manager.go.
// Invariant: only sockets are removed, and links are never followed, so the checkpoint and foreign files stay.
import { mkdir, opendir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../files/pod-files.ts';
import { setDirectoryMode } from '../files/small-files.ts';
import { inspectSocket } from './inspect-socket.ts';

const directoryMode = 0o750;
const checkpointName = 'kubelet_internal_checkpoint';

export const devicePluginDirectory = {
  /** Creates the directory, and removes the sockets of plugins that were registered with an earlier kubelet. */
  async prepare(directory: string, onError: (path: string, err: unknown) => void): Promise<void> {
    const created = await mkdir(directory, { recursive: true, mode: directoryMode });
    if (created !== undefined) await setDirectoryMode(directory, directoryMode);
    for await (const entry of await opendir(directory)) {
      if (!entry.isSocket() || entry.name === checkpointName) continue;
      const path = join(directory, entry.name);
      try {
        await unlink(path);
      } catch (err) {
        if (!isMissing(err)) onError(path, err);
      }
    }
  },

  /** Whether the directory does not exist, or has neither a checkpoint nor a socket, not even of a kubelet that has ended. */
  async isUnused(directory: string): Promise<boolean> {
    try {
      for await (const { name } of await opendir(directory)) if (!name.startsWith('.')) return false;
      return true;
    } catch (err) {
      return isMissing(err);
    }
  },

  /** Distinguishes a socket from its replacement; undefined if there is none. */
  async identity(path: string): Promise<string | undefined> {
    const inspected = await inspectSocket(path);
    return inspected.is === 'socket' ? inspected.identity : undefined;
  },
};
