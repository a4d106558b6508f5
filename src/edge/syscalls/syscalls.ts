// System calls without a function in Node, called through koffi: flock, mount, prlimit, inotify, eventfd, epoll, and datagrams
// on unix sockets. Why koffi, and what it costs: docs/decisions/0011-koffi.md.
// Invariants: only loadSyscalls() loads koffi's binary; a failed call throws a KubeletError whose reason is its errno; no
// call blocks the event loop, nor a thread of Node's pool for long, since a process cannot exit while one is blocked.
import { readSync } from 'node:fs';
import type * as KoffiModule from 'koffi';
import { bindEvents, type EventCalls, eventCalls } from './event-calls.ts';
import { errnoError, errorCode } from './syscalls-errors.ts';

interface MountRequest {
  readonly source: string;
  readonly target: string;
  readonly flags: number;
}

export interface Syscalls extends EventCalls {
  /** Takes the exclusive lock of an open file. False if another process holds it. */
  tryLock(fd: number): boolean;
  mount(request: MountRequest): Promise<void>;
  /** Sets both limits of RLIMIT_NOFILE; pid 0 is this process. */
  setOpenFileLimit(pid: number, limit: number): void;
  /** Reports the mask of each inotify event of a path until closed. Does not keep the process alive. */
  watchEvents(path: string, mask: number, onEvent: (mask: number) => void): { close(): void };
  /** Lets the kernel queue the inotify events of a directory's entries until they are read. Wakes nothing. */
  collectNames(directory: string, mask: number): NameEvents;
  /** One inotify instance for any number of files. Does not keep the process alive. */
  openWatches(onEvent: (event: WatchEvent) => void): Watches;
  /** Moves an open file's position to its end. */
  seekEnd(fd: number): void;
  /** Calls back whenever the descriptor is readable, until closed. Does not keep the process alive. */
  whenReadable(fd: number, onReadable: () => void): { close(): void };
  /** Sends one datagram without blocking. `address` is a struct sockaddr_un. */
  sendDatagram(address: Uint8Array, message: string): void;
}

interface WatchEvent {
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

export const mountFlags = { bind: 0x1000, recursive: 0x4000, shared: 1 << 20 } as const;
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

type Koffi = typeof KoffiModule;
type Native = ReturnType<typeof bind>;

export async function loadSyscalls(): Promise<Syscalls> {
  const koffi: Koffi = await import('koffi');
  const native = bind(koffi);
  return {
    tryLock: (fd) => tryLock(koffi, native, fd),
    mount: (request) => mount(koffi, native, request),
    setOpenFileLimit: (pid, limit) => setOpenFileLimit(koffi, native, pid, limit),
    watchEvents: (path, mask, onEvent) => watchEvents(koffi, native, { path, mask, onEvent }),
    collectNames: (directory, mask) => collectNames(koffi, native, directory, mask),
    openWatches: (onEvent) => openWatches(koffi, native, onEvent),
    seekEnd: (fd) => {
      if (native.lseek(fd, 0, seekEnd) < 0) throw errnoError(koffi.errno(), 'seek the end');
    },
    whenReadable: (fd, onReadable) => whenReadable(koffi, fd, onReadable),
    ...eventCalls(koffi, native, (fd, onReadable) => whenReadable(koffi, fd, onReadable)),
    sendDatagram: (address, message) => sendDatagram(koffi, native, address, message),
  };
}

type MountArguments = [string, string, null, number, null];

interface AsyncCall<A extends unknown[]> {
  async(...args: [...A, (err: unknown, result: number) => void]): void;
}

function bind(koffi: Koffi) {
  const libc = koffi.load(null);
  return {
    flock: libc.func('flock', 'int', ['int', 'int']) as (fd: number, operation: number) => number,
    mount: libc.func('mount', 'int', [
      'str',
      'str',
      'str',
      'ulong',
      'void *',
    ]) as unknown as AsyncCall<MountArguments>,
    prlimit: libc.func('prlimit64', 'int', ['int', 'int', 'void *', 'void *']) as (
      pid: number,
      resource: number,
      limit: BigUint64Array,
      old: null,
    ) => number,
    // Node tracks the descriptors it opened itself; its own close() warns about others.
    close: libc.func('close', 'int', ['int']) as (fd: number) => number,
    lseek: libc.func('lseek', 'int64', ['int', 'int64', 'int']) as (
      fd: number,
      offset: number,
      origin: number,
    ) => number,
    ...bindEvents(libc),
    inotifyInit: libc.func('inotify_init1', 'int', ['int']) as (flags: number) => number,
    inotifyAdd: libc.func('inotify_add_watch', 'int', ['int', 'str', 'uint32']) as (
      fd: number,
      path: string,
      mask: number,
    ) => number,
    inotifyRemove: libc.func('inotify_rm_watch', 'int', ['int', 'int']) as (
      fd: number,
      watch: number,
    ) => number,
    socket: libc.func('socket', 'int', ['int', 'int', 'int']) as (
      domain: number,
      type: number,
      protocol: number,
    ) => number,
    sendto: libc.func('sendto', 'long', ['int', 'void *', 'size_t', 'int', 'void *', 'uint32']) as (
      fd: number,
      data: Uint8Array,
      length: number,
      flags: number,
      address: Uint8Array,
      addressLength: number,
    ) => number,
  };
}

const seekEnd = 2;
const lockExclusive = 2;
const lockNonBlocking = 4;

function tryLock(koffi: Koffi, native: Native, fd: number): boolean {
  if (native.flock(fd, lockExclusive | lockNonBlocking) === 0) return true;
  const err = errnoError(koffi.errno(), 'lock file');
  if (err.reason === 'EAGAIN') return false;
  throw err;
}

/** The only call here that reaches a file system, which may be slow: it runs in the thread pool. */
function mount(koffi: Koffi, native: Native, { source, target, flags }: MountRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    native.mount.async(source, target, null, flags, null, (err, result) => {
      if (err !== null && err !== undefined) reject(err);
      else if (result === 0) resolve();
      else reject(errnoError(koffi.errno(), `mount ${source} on ${target}`, { source, target, flags }));
    });
  });
}

const rlimitNoFile = 7;

function setOpenFileLimit(koffi: Koffi, native: Native, pid: number, limit: number): void {
  const softAndHard = BigUint64Array.of(BigInt(limit), BigInt(limit));
  if (native.prlimit(pid, rlimitNoFile, softAndHard, null) === 0) return;
  throw errnoError(koffi.errno(), `set RLIMIT_NOFILE to ${limit}`, { limit });
}

const closeOnExec = 0o2000000;
const nonBlocking = 0o4000;
const eventHeaderBytes = 16;

interface WatchRequest {
  readonly path: string;
  readonly mask: number;
  readonly onEvent: (mask: number) => void;
}

function openWatch(koffi: Koffi, native: Native, path: string, mask: number): number {
  const fd = native.inotifyInit(closeOnExec | nonBlocking);
  if (fd < 0) throw errnoError(koffi.errno(), 'open inotify');
  if (native.inotifyAdd(fd, path, mask) < 0) {
    const err = errnoError(koffi.errno(), `watch ${path}`, { path });
    native.close(fd);
    throw err;
  }
  return fd;
}

function collectNames(koffi: Koffi, native: Native, directory: string, mask: number): NameEvents {
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

function watchEvents(koffi: Koffi, native: Native, { path, mask, onEvent }: WatchRequest) {
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

function openWatches(koffi: Koffi, native: Native, onEvent: (event: WatchEvent) => void): Watches {
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
function whenReadable(koffi: Koffi, fd: number, onReadable: () => void): { close(): void } {
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

const unixFamily = 1;
const datagramType = 2;
const noSignal = 0x4000;
const dontWait = 0x40;
const pathBytes = 107;

/** A struct sockaddr_un. A leading @ denotes an abstract socket, which has no file. */
export function unixAddress(name: string): Uint8Array {
  const path = Buffer.from(name.startsWith('@') ? `\0${name.slice(1)}` : `${name}\0`);
  if (path.length > pathBytes + 1) throw errnoError(36, `address ${name}`, { limit: pathBytes });
  return Buffer.concat([new Uint8Array(Uint16Array.of(unixFamily).buffer), path]);
}

function sendDatagram(koffi: Koffi, native: Native, address: Uint8Array, message: string): void {
  const fd = native.socket(unixFamily, datagramType | closeOnExec, 0);
  if (fd < 0) throw errnoError(koffi.errno(), 'open a datagram socket');
  const data = Buffer.from(message);
  const sent = native.sendto(fd, data, data.length, noSignal | dontWait, address, address.length);
  const errno = koffi.errno();
  native.close(fd);
  if (sent < 0) throw errnoError(errno, 'send a datagram');
}
