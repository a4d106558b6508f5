// Descriptors by which the kernel reports events: a counter (eventfd), and exceptional conditions of a file (epoll, EPOLLPRI).
// Invariant: waiting takes neither a thread nor a timer; a handle closes the descriptors that it opened, once.
import type * as KoffiModule from 'koffi';
import { errnoError } from './syscalls-errors.ts';

interface Handle {
  close(): void;
}

export interface EventCalls {
  /** Opens a counter that the kernel increments. Reading its 8 bytes resets it and never blocks. */
  openEventCounter(): Handle & { readonly fd: number };
  /** Calls back for each exceptional condition (POLLPRI) of the descriptor. Does not keep the process alive. */
  whenExceptional(fd: number, onCondition: () => void): Handle;
}

type WhenReadable = (fd: number, onReadable: () => void) => Handle;
type Native = ReturnType<typeof bindEvents> & { close(fd: number): number };

const closeOnExec = 0o2000000;
const nonBlocking = 0o4000;
const addToSet = 1;
const exceptional = 0x2;
/** Larger than struct epoll_event on every architecture. Zero after the mask: the data is not used. */
const eventBytes = 16;

export function bindEvents(libc: ReturnType<typeof KoffiModule.load>) {
  return {
    eventfd: libc.func('eventfd', 'int', ['uint32', 'int']) as (initial: number, flags: number) => number,
    epollCreate: libc.func('epoll_create1', 'int', ['int']) as (flags: number) => number,
    epollControl: libc.func('epoll_ctl', 'int', ['int', 'int', 'int', 'void *']) as (
      set: number,
      operation: number,
      fd: number,
      event: Uint8Array,
    ) => number,
  };
}

export function eventCalls(
  koffi: Pick<typeof KoffiModule, 'errno'>,
  native: Native,
  whenReadable: WhenReadable,
): EventCalls {
  const handleOf = (fd: number, onClose: () => void = () => undefined): Handle => {
    let isOpen = true;
    return {
      close(): void {
        if (!isOpen) return;
        isOpen = false;
        onClose();
        native.close(fd);
      },
    };
  };
  return {
    openEventCounter() {
      const fd = native.eventfd(0, closeOnExec | nonBlocking);
      if (fd < 0) throw errnoError(koffi.errno(), 'open an event counter');
      return { fd, ...handleOf(fd) };
    },
    /**
     * The event loop cannot wait for POLLPRI, but an epoll set can, and the set itself is readable while one of its members
     * has an event. The kernel clears a trigger when it is polled, so the set needs no read.
     */
    whenExceptional(fd, onCondition) {
      const set = native.epollCreate(closeOnExec);
      if (set < 0) throw errnoError(koffi.errno(), 'create an epoll set');
      const event = new Uint8Array(eventBytes);
      new Uint32Array(event.buffer, 0, 1)[0] = exceptional;
      if (native.epollControl(set, addToSet, fd, event) !== 0) {
        const err = errnoError(koffi.errno(), `wait for conditions of descriptor ${fd}`);
        native.close(set);
        throw err;
      }
      const watch = whenReadable(set, onCondition);
      return handleOf(set, () => watch.close());
    },
  };
}
