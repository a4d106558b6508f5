// System calls without a function in Node, called through koffi: flock, mount, prlimit, inotify, eventfd, epoll, and datagrams
// on unix sockets. Why koffi, and what it costs: docs/decisions/0011-koffi.md.
// Invariants: only loadSyscalls() loads koffi's binary; a failed call throws a KubeletError whose reason is its errno; no
// call blocks the event loop, nor a thread of Node's pool for long, since a process cannot exit while one is blocked.
import type * as KoffiModule from 'koffi';
import { bindEvents, type EventCalls, eventCalls } from './event-calls.ts';
import {
  collectNames,
  type NameEvents,
  openWatches,
  type WatchEvent,
  type Watches,
  watchEvents,
  whenReadable,
} from './inotify.ts';
import { errnoError } from './syscalls-errors.ts';

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
  /** Whether the kernel's clock is synchronized, as a time daemon reports it to the kernel. Changes nothing. */
  isClockSynchronized(): boolean;
  /** Sends one datagram without blocking. `address` is a struct sockaddr_un. */
  sendDatagram(address: Uint8Array, message: string): void;
}

export const mountFlags = { bind: 0x1000, recursive: 0x4000, shared: 1 << 20 } as const;
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
    isClockSynchronized: () => isClockSynchronized(koffi, native),
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
    adjtimex: libc.func('adjtimex', 'int', ['void *']) as (timex: Uint8Array) => number,
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

/** Larger than struct timex on every architecture; zero means no mode, so nothing is set. */
const timexBytes = 256;
const clockUnsynchronized = 5;

function isClockSynchronized(koffi: Koffi, native: Native): boolean {
  const state = native.adjtimex(new Uint8Array(timexBytes));
  if (state < 0) throw errnoError(koffi.errno(), 'read the state of the clock');
  return state !== clockUnsynchronized;
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
