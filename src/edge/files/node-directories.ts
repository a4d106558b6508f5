// Creates the kubelet's directories. Upstream: setupDataDirs and initializeModules in pkg/kubelet/kubelet.go.
// Invariants: an existing directory keeps its mode and owner; a link to a directory is accepted, so that any of them can be
// on another disk; an error names the conflicting file.
import { mkdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type KubeletError } from '../../base/errors.ts';
import { hostError } from '../syscalls/syscalls-errors.ts';
import { setDirectoryMode } from './small-files.ts';

export interface NodeDirectoriesOptions {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  /** Whether containers may be checkpointed. */
  readonly checkpoints: boolean;
}

interface NodeDirectory {
  readonly path: string;
  readonly mode: number;
}

/** In the order in which they are created. */
export function nodeDirectories(options: NodeDirectoriesOptions): readonly NodeDirectory[] {
  const { rootDir, podLogsDir, containerLogsDir, checkpoints } = options;
  const below = (name: string, mode = 0o750): NodeDirectory => ({ path: join(rootDir, name), mode });
  return [
    { path: rootDir, mode: 0o750 },
    { path: podLogsDir, mode: 0o750 },
    below('pods'),
    below('plugins'),
    below('plugins_registry'),
    below('pod-resources'),
    ...(checkpoints ? [below('checkpoints', 0o700)] : []),
    { path: containerLogsDir, mode: 0o755 },
  ];
}

export async function createNodeDirectories(options: NodeDirectoriesOptions): Promise<void> {
  for (const { path, mode } of nodeDirectories(options)) {
    try {
      const created = await mkdir(path, { recursive: true, mode });
      // Independent of the umask.
      if (created !== undefined) await setDirectoryMode(path, mode);
    } catch (err) {
      throw await directoryError(err, path);
    }
  }
}

async function directoryError(cause: unknown, path: string): Promise<KubeletError> {
  const target = await readlink(path).catch(() => undefined);
  const described = target === undefined ? path : `${path}, which is a link to ${target}`;
  return hostError(cause, `cannot create directory ${described}`, { path });
}
