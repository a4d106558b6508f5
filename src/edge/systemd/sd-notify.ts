// Tells systemd how the service is doing, by a datagram to the socket it named. Upstream: go-systemd's daemon.SdNotify.
import type { Clock } from '../../base/clock.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import { loadSyscalls, unixAddress } from '../syscalls/syscalls.ts';

interface SdNotifyOptions {
  /** NOTIFY_SOCKET. Empty or absent: nobody is to be told. */
  readonly socket: string | undefined;
  readonly clock: Clock;
}

/** systemd reads its socket at once; one that is full for longer is a systemd that hangs. */
const tries = 5;
const retryMs = 50;

export class SdNotify {
  readonly #options: SdNotifyOptions;

  constructor(options: SdNotifyOptions) {
    this.#options = options;
  }

  /** Sends a state, as READY=1. False when the kubelet was not started by systemd, or not to notify it. */
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
        if (attempt === tries || !isKind(err, 'unavailable')) throw err;
      }
      await clock.sleep(retryMs, signal);
    }
  }
}

function notifyAddress(socket: string): Uint8Array {
  if (socket.startsWith('/') || (socket.startsWith('@') && socket.length > 1)) return unixAddress(socket);
  throw new KubeletError('invalid', 'InvalidNotifySocket', `NOTIFY_SOCKET is no unix socket: ${socket}`, {
    details: { socket },
  });
}
