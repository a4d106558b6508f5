// Sends service state (READY=1, WATCHDOG=1, STOPPING=1) to systemd's notification socket. Upstream: go-systemd's
// daemon.SdNotify. Invariant: never blocks the event loop.
import type { Clock } from '../../base/clock.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import { loadSyscalls, unixAddress } from '../syscalls/syscalls.ts';

interface SdNotifyOptions {
  /** NOTIFY_SOCKET. Empty or absent: nothing is sent. */
  readonly socket: string | undefined;
  readonly clock: Clock;
}

/** systemd drains its socket at once; one that stays full means that systemd hangs. */
const maxAttempts = 5;
const retryMs = 50;

export class SdNotify {
  readonly #options: SdNotifyOptions;

  constructor(options: SdNotifyOptions) {
    this.#options = options;
  }

  /** Sends a state such as READY=1. Returns false if the kubelet was not started with a notification socket. */
  async notify(state: string, signal?: AbortSignal): Promise<boolean> {
    const { socket, clock } = this.#options;
    if (socket === undefined || socket === '') return false;
    const address = notifyAddress(socket);
    const syscalls = await loadSyscalls();
    for (let attempt = 1; ; attempt++) {
      try {
        syscalls.sendDatagram(address, state);
        return true;
      } catch (err) {
        if (attempt === maxAttempts || !isKind(err, 'unavailable')) throw err;
      }
      await clock.sleep(retryMs, signal);
    }
  }
}

function notifyAddress(socket: string): Uint8Array {
  if (socket.startsWith('/') || (socket.startsWith('@') && socket.length > 1)) return unixAddress(socket);
  throw new KubeletError('invalid', 'InvalidNotifySocket', `NOTIFY_SOCKET is not a unix socket: ${socket}`, {
    details: { socket },
  });
}
