// Gives a volume to a group: every entry its group, group-readable and -writable, directories with the set-group bit.
// Upstream: pkg/volume/volume_linux.go (SetVolumeOwnership). Invariants: no link is followed, also when one is swapped in
// while we look, since every change goes through a descriptor of the very entry that was looked at; the root comes last, so
// that an interrupted walk is begun anew; the event loop is never blocked: entries are worked on in slices.
import { closeSync, constants, type Stats } from 'node:fs';
import type { OwnershipRequest, OwnershipResult } from '../../api/volume-host.ts';
import { describeError } from '../../base/errors.ts';
import { errorCode } from '../host/syscalls-errors.ts';
import { diskCalls, type FileCalls } from './file-calls.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const openPath = 0o10000000;
const readWrite = 0o660;
const readOnly = 0o440;
const searchable = 0o110;
const setGroup = 0o2000;
const progressEvery = 4096;

interface Walk {
  readonly request: OwnershipRequest;
  readonly signal: AbortSignal;
  readonly calls: FileCalls;
  readonly dev: number;
  entries: number;
  failed: number;
  firstFailure: string | undefined;
}

export async function changeOwnership(
  request: OwnershipRequest,
  signal: AbortSignal,
  calls = diskCalls,
): Promise<OwnershipResult> {
  const root = await calls.open(request.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const stat = await calls.fstat(root);
    if (request.onlyOnRootMismatch && matches(stat, request))
      return { entries: 0, failed: 0, firstFailure: undefined };
    const { dev } = stat;
    const walk: Walk = { request, signal, calls, dev, entries: 0, failed: 0, firstFailure: undefined };
    await changeDirectory(root, stat, walk);
    const { entries, failed, firstFailure } = walk;
    return { entries, failed, firstFailure };
  } finally {
    closeSync(root);
  }
}

function wantedMode(stat: Stats, { readOnly: isReadOnly }: OwnershipRequest): number {
  const mask = isReadOnly ? readOnly : readWrite;
  return (stat.mode & 0o7777) | (stat.isDirectory() ? mask | searchable | setGroup : mask);
}

/** Whether the root has what the walk would give it; more bits than those are fine. */
function matches(stat: Stats, request: OwnershipRequest): boolean {
  return stat.gid === request.fsGroup && wantedMode(stat, request) === (stat.mode & 0o7777);
}

async function changeDirectory(directory: number, stat: Stats, walk: Walk): Promise<void> {
  const self = `/proc/self/fd/${directory}`;
  const subdirectories: string[] = [];
  for await (const slice of walk.calls.slices(self, stat.size)) {
    walk.signal.throwIfAborted();
    await Promise.all(
      slice.map(async ({ name }) => {
        const isDirectory = await tolerated(walk, () => changeEntry(`${self}/${name}`, walk));
        if (isDirectory === true) subdirectories.push(name);
      }),
    );
  }
  for (const name of subdirectories) await tolerated(walk, () => changeSubdirectory(`${self}/${name}`, walk));
  await tolerated(walk, () => changeOpen(directory, stat, walk));
  count(walk);
}

async function changeSubdirectory(path: string, walk: Walk): Promise<void> {
  const child = await walk.calls.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const stat = await walk.calls.fstat(child);
    // Another file system below is another volume's, or nobody's business of ours.
    if (stat.dev === walk.dev) await changeDirectory(child, stat, walk);
  } finally {
    closeSync(child);
  }
}

/** True for a directory, which is left to its own walk. */
async function changeEntry(path: string, walk: Walk): Promise<boolean> {
  const entry = await walk.calls.open(path, openPath | O_NOFOLLOW);
  try {
    const stat = await walk.calls.fstat(entry);
    if (stat.isDirectory()) return true;
    count(walk);
    // A link's own mode means nothing, and a change of it would reach what it points to.
    if (stat.isSymbolicLink()) {
      if (stat.gid !== walk.request.fsGroup) await walk.calls.lchown(path, stat.uid, walk.request.fsGroup);
    } else await changeOpen(entry, stat, walk);
    return false;
  } finally {
    closeSync(entry);
  }
}

async function changeOpen(entry: number, stat: Stats, { calls, request }: Walk): Promise<void> {
  const self = `/proc/self/fd/${entry}`;
  const mode = wantedMode(stat, request);
  const regroup = stat.gid !== request.fsGroup;
  if (regroup) await calls.chown(self, stat.uid, request.fsGroup);
  // The kernel clears set-user and set-group bits of a file whose group changes: they are set again.
  if (mode !== (stat.mode & 0o7777) || (regroup && (mode & 0o6000) !== 0)) await calls.chmod(self, mode);
}

function count(walk: Walk): void {
  walk.entries++;
  if (walk.entries % progressEvery === 0) walk.request.onProgress?.(walk.entries);
}

/** An entry that cannot be changed does not keep the others from it, as upstream; one that has gone is no failure. */
async function tolerated<T>(walk: Walk, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (err) {
    walk.signal.throwIfAborted();
    if (errorCode(err) === 'ENOENT') return undefined;
    walk.failed++;
    walk.firstFailure ??= describeError(err);
    return undefined;
  }
}
