// Applies an fsGroup to a volume: sets the group of every entry, makes it group-readable and -writable, and sets the setgid bit
// on directories. Upstream: pkg/volume/volume_linux.go (SetVolumeOwnership). Invariants: no link is followed, even one swapped in
// concurrently, since every change goes through a descriptor of the inspected entry; the root is changed last, so that an
// interrupted walk is repeated; the event loop is never blocked, since entries are processed in slices; the number of open
// descriptors is bounded, however deep the tree is.
import { closeSync, constants, type Stats } from 'node:fs';
import type { OwnershipRequest, OwnershipResult } from '../../api/ports/volume-host.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { rawEntryOf } from './descriptors.ts';
import { diskCalls, type FileCalls } from './file-calls.ts';
import type { RawName } from './raw-names.ts';
import { DirectoryStack, directoryFlags } from './usage/directory-stack.ts';

const { O_NOFOLLOW } = constants;
const openPath = 0o10000000;
const readWrite = 0o660;
const readOnly = 0o440;
const searchable = 0o110;
const setGroup = 0o2000;
const progressEvery = 4096;
/** Memory bound for the names of pending directories, in characters: millions of names. */
const maxPendingChars = 64 * 1024 * 1024;

interface Walk {
  readonly request: OwnershipRequest;
  readonly signal: AbortSignal;
  readonly calls: FileCalls;
  readonly dev: number;
  entries: number;
  failed: number;
  firstFailure: string | undefined;
  /** Total length of the names of pending directories. */
  pendingChars: number;
}

/** A directory whose entries are being changed. */
interface Changing {
  readonly stat: Stats;
  readonly subdirectories: RawName[];
}

export async function changeOwnership(
  request: OwnershipRequest,
  signal: AbortSignal,
  calls = diskCalls,
): Promise<OwnershipResult> {
  const root = await calls.open(request.path, directoryFlags);
  try {
    const stat = await calls.fstat(root);
    if (request.onlyOnRootMismatch && matches(stat, request))
      return { entries: 0, failed: 0, firstFailure: undefined };
    const { dev } = stat;
    const walk: Walk = {
      request,
      signal,
      calls,
      dev,
      entries: 0,
      failed: 0,
      firstFailure: undefined,
      pendingChars: 0,
    };
    await changeTree(root, stat, walk);
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

/** Whether the root already has the group and at least the mode bits that the walk would set. */
function matches(stat: Stats, request: OwnershipRequest): boolean {
  return stat.gid === request.fsGroup && wantedMode(stat, request) === (stat.mode & 0o7777);
}

/** Depth first; a directory is changed after its entries. */
async function changeTree(root: number, stat: Stats, walk: Walk): Promise<void> {
  const stack = new DirectoryStack(root, stat, walk.calls);
  try {
    const changing: Changing[] = [{ stat, subdirectories: await changeEntries(root, stat, walk) }];
    for (let current = changing.at(-1); current !== undefined; current = changing.at(-1)) {
      const { stat: own, subdirectories } = current;
      const next = subdirectories.pop();
      if (next !== undefined) {
        walk.pendingChars -= next.length;
        const entered = await tolerated(walk, () => enter(stack, next, walk));
        if (entered === undefined) continue;
        const below = await tolerated(walk, () => changeEntries(stack.fd, entered, walk));
        changing.push({ stat: entered, subdirectories: below ?? [] });
        continue;
      }
      await tolerated(walk, () => changeOpen(stack.fd, own, walk));
      count(walk);
      changing.pop();
      if (changing.length > 0) await stack.leave();
    }
  } finally {
    stack.close();
  }
}

/** Undefined for a directory on another file system, which does not belong to the volume. */
async function enter(stack: DirectoryStack, name: RawName, walk: Walk): Promise<Stats | undefined> {
  const stat = await stack.enter(name);
  if (stat.dev === walk.dev) return stat;
  await stack.leave();
  return undefined;
}

/** Changes all entries except directories, and returns the names of those. */
async function changeEntries(directory: number, stat: Stats, walk: Walk): Promise<RawName[]> {
  const self = `/proc/self/fd/${directory}`;
  const subdirectories: RawName[] = [];
  for await (const slice of walk.calls.slices(self, stat.size)) {
    walk.signal.throwIfAborted();
    await Promise.all(
      slice.map(async ({ name }) => {
        const isDirectory = await tolerated(walk, () => changeEntry(rawEntryOf(directory, name), walk));
        if (isDirectory !== true) return;
        subdirectories.push(name);
        walk.pendingChars += name.length;
      }),
    );
    if (walk.pendingChars > maxPendingChars)
      throw new KubeletError('invalid', 'TooManyDirectories', 'too many sibling directories');
  }
  return subdirectories;
}

/** True for a directory, which is changed later. */
async function changeEntry(path: Buffer, walk: Walk): Promise<boolean> {
  const entry = await walk.calls.open(path, openPath | O_NOFOLLOW);
  try {
    const stat = await walk.calls.fstat(entry);
    if (stat.isDirectory()) return true;
    count(walk);
    // The mode of a link is meaningless, and chmod would follow the link.
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
  const changesGroup = stat.gid !== request.fsGroup;
  if (changesGroup) await calls.chown(self, stat.uid, request.fsGroup);
  // chown clears the setuid and setgid bits, so they are set again.
  if (mode !== (stat.mode & 0o7777) || (changesGroup && (mode & 0o6000) !== 0)) await calls.chmod(self, mode);
}

function count(walk: Walk): void {
  walk.entries++;
  if (walk.entries % progressEvery === 0) walk.request.onProgress?.(walk.entries);
}

/** As upstream, an entry that cannot be changed does not stop the walk. A removed entry is not a failure. */
async function tolerated<T>(walk: Walk, change: () => Promise<T>): Promise<T | undefined> {
  try {
    return await change();
  } catch (err) {
    walk.signal.throwIfAborted();
    if (errorCode(err) === 'ENOENT') return undefined;
    walk.failed++;
    walk.firstFailure ??= describeError(err);
    return undefined;
  }
}
