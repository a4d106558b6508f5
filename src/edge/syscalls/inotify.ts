// inotify through koffi: watches of paths, collected or notified. Upstream: fsnotify.
// Invariants: a read never blocks; a watch does not keep the process alive, and is closed by its owner.
import { readSync } from 'node:fs';
import type * as KoffiModule from 'koffi';
import { errnoError, errorCode } from './syscalls-errors.ts';

type Koffi = typeof KoffiModule;

interface InotifyCalls {
  inotifyInit(flags: number): number;
  inotifyAdd(fd: number, path: string, mask: number): number;
  inotifyRemove(fd: number, watch: number): number;
  close(fd: number): number;
}

export interface WatchEvent {
  /** What add() returned; -1 if events were lost. */
  readonly watch: number;
  readonly mask: number;
}

export interface Watches {
  add(path: string, mask: number): number;
  remove(watch: number): void;
  close(): void;
}

interface NameEvent extends WatchEvent {
  readonly mask: number;
  /** The same for both halves of a rename within the directory. */
  readonly cookie: number;
  /** Empty for an event of the directory itself. */
  readonly name: string;
}

export interface NameEvents {
  /** All events since the last call; does not block. */
  read(): readonly NameEvent[];
  close(): void;
}

export const inotifyMasks = {
  modify: 0x2,
  attributes: 0x4,
  open: 0x20,
  movedFrom: 0x40,
  movedTo: 0x80,
  delete: 0x200,
  deleteSelf: 0x400,
  moveSelf: 0x800,
  /** The watch was removed: its file was deleted or its file system unmounted. */
  ignored: 0x8000,
  onlyDirectory: 0x1000000,
  /** The watch is removed after its first event. */
  once: 0x80000000,
} as const;

const closeOnExec = 0o2000000;
const nonBlocking = 0o4000;
const eventHeaderBytes = 16;

interface WatchRequest {
  readonly path: string;
  readonly mask: number;
  readonly onEvent: (mask: number) => void;
}

function openWatch(koffi: Koffi, native: InotifyCalls, path: string, mask: number): number {
  const fd = native.inotifyInit(closeOnExec | nonBlocking);
  if (fd < 0) throw errnoError(koffi.errno(), 'open inotify');
  if (native.inotifyAdd(fd, path, mask) < 0) {
    const err = errnoError(koffi.errno(), `watch ${path}`, { path });
    native.close(fd);
    throw err;
  }
  return fd;
}

export function collectNames(
  koffi: Koffi,
  native: InotifyCalls,
  directory: string,
  mask: number,
): NameEvents {
  const fd = openWatch(koffi, native, directory, mask);
  let open = true;
  return {
    read(): readonly NameEvent[] {
      const events: NameEvent[] = [];
      for (let some = open ? readEvents(fd) : []; some.length > 0; some = readEvents(fd))
        events.push(...some);
      return events;
    },
    close(): void {
      if (open) native.close(fd);
      open = false;
    },
  };
}

export function watchEvents(koffi: Koffi, native: InotifyCalls, { path, mask, onEvent }: WatchRequest) {
  const fd = openWatch(koffi, native, path, mask);
  let open = true;
  const handle = whenReadable(koffi, fd, () => {
    for (const each of readEvents(fd)) if (open) onEvent(each.mask);
  });
  return {
    close(): void {
      if (!open) return;
      open = false;
      handle.close();
      native.close(fd);
    },
  };
}

export function openWatches(
  koffi: Koffi,
  native: InotifyCalls,
  onEvent: (event: WatchEvent) => void,
): Watches {
  const fd = native.inotifyInit(closeOnExec | nonBlocking);
  if (fd < 0) throw errnoError(koffi.errno(), 'open inotify');
  let open = true;
  const handle = whenReadable(koffi, fd, () => {
    for (const each of readEvents(fd)) if (open) onEvent(each);
  });
  return {
    add(path: string, mask: number): number {
      const watch = open ? native.inotifyAdd(fd, path, mask) : -1;
      if (watch < 0) throw errnoError(koffi.errno(), `watch ${path}`, { path });
      return watch;
    },
    remove(watch: number): void {
      if (open) native.inotifyRemove(fd, watch);
    },
    close(): void {
      if (!open) return;
      open = false;
      handle.close();
      native.close(fd);
    },
  };
}

/** The event loop polls the descriptor: no thread, no timer. */
export function whenReadable(koffi: Koffi, fd: number, onReadable: () => void): { close(): void } {
  const handle = koffi.node.poll(fd, { readable: true }, () => onReadable());
  handle.unref();
  return { close: () => handle.close() };
}

function readEvents(fd: number): readonly NameEvent[] {
  const buffer = Buffer.alloc(4096);
  let length = 0;
  try {
    length = readSync(fd, buffer);
  } catch (err) {
    if (errorCode(err) !== 'EAGAIN') throw err;
  }
  const words = new DataView(buffer.buffer, buffer.byteOffset, length);
  const events: NameEvent[] = [];
  for (let at = 0; at + eventHeaderBytes <= length; ) {
    const nameAt = at + eventHeaderBytes;
    const end = nameAt + nativeUint32(words, at + 12);
    // The kernel pads names with zero bytes.
    const [name = ''] = buffer.toString('utf8', nameAt, end).split('\0', 1);
    events.push({
      watch: words.getInt32(at, isLittleEndian()),
      mask: nativeUint32(words, at + 4),
      cookie: nativeUint32(words, at + 8),
      name,
    });
    at = end;
  }
  return events;
}

function nativeUint32(words: DataView, at: number): number {
  return words.getUint32(at, isLittleEndian());
}

/** The kernel uses the byte order of the machine. */
function isLittleEndian(): boolean {
  return new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;
}
