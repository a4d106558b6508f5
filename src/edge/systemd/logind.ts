// systemd-logind over D-Bus: its limit for delays, its signal of a shutdown, and the inhibitor lock.
// Upstream: pkg/kubelet/nodeshutdown/systemd/inhibit_linux.go.
// Invariants: a signal counts only if logind sent it, since any client of the bus may send one; a session ends with its
// connection or with logind, whichever is first.
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Message } from 'dbus-native';
import type { InhibitorLock, Logind, LogindSession } from '../../api/ports/logind.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import {
  type BusConnection,
  type BusObject,
  busDaemon,
  openBus,
  systemBusAddress,
} from './bus-connection.ts';
import { type InhibitOptions, takeInhibitorLock } from './inhibitor-lock.ts';
import { systemdManager } from './systemd-connection.ts';

interface LogindOptions {
  readonly clock: Clock;
  readonly busAddress?: string;
  /** The file that raises logind's limit. */
  readonly configFile?: string;
  readonly inhibit?: Omit<InhibitOptions, 'clock' | 'signal'>;
}

const logindManager: BusObject = {
  destination: 'org.freedesktop.login1',
  path: '/org/freedesktop/login1',
  interface: 'org.freedesktop.login1.Manager',
};
const rules = [
  `type='signal',sender='${logindManager.destination}',interface='${logindManager.interface}',member='PrepareForShutdown'`,
  `type='signal',sender='${busDaemon.destination}',member='NameOwnerChanged',arg0='${logindManager.destination}'`,
];
const unit = 'systemd-logind.service';
const defaultConfigFile = '/etc/systemd/logind.conf.d/99-kubelet.conf';
const writeMs = 5_000;
/** The largest value of systemd's times: no limit. */
const unlimited = 2n ** 64n - 1n;
/** SIGHUP: logind reads its configuration again. */
const hangUp = 1;

export function logind(options: LogindOptions): Logind {
  const { busAddress = systemBusAddress, clock } = options;
  return {
    connect: async (onPrepare) => {
      const bus = await openBus(busAddress, rules, clock);
      try {
        // systemd starts logind for this call if it does not run.
        await bus.property(logindManager, 'PreparingForShutdown');
        const session = new Session(bus, onPrepare, options);
        await session.findOwner();
        return session;
      } catch (err) {
        bus.close();
        throw err;
      }
    },
  };
}

class Session implements LogindSession {
  readonly ended: Promise<string>;
  readonly #bus: BusConnection;
  readonly #options: LogindOptions;
  /** The unique name of logind on the bus. */
  #owner = '';

  constructor(bus: BusConnection, onPrepare: (active: boolean) => void, options: LogindOptions) {
    this.#bus = bus;
    this.#options = options;
    this.ended = new Promise((resolve) => {
      bus.onClose = () => resolve('the connection to D-Bus was lost');
      if (bus.isClosed) bus.onClose();
      bus.onMessage = (message) => {
        const { body: [value] = [], member, sender } = message;
        if (isOwnerChange(message)) resolve('systemd-logind was stopped or restarted');
        else if (sender === this.#owner && member === 'PrepareForShutdown' && typeof value === 'boolean')
          onPrepare(value);
      };
    });
  }

  /** Called with the signals followed already: a logind that restarts meanwhile ends the session. */
  async findOwner(): Promise<void> {
    this.#owner = String(await this.#bus.call(busDaemon, 'GetNameOwner', 's', [logindManager.destination]));
  }

  async delayLimitMs(): Promise<number> {
    const microseconds = await this.#bus.property(logindManager, 'InhibitDelayMaxUSec');
    if (typeof microseconds !== 'bigint') throw new TypeError('logind returned a limit of another type');
    return microseconds === unlimited ? Number.POSITIVE_INFINITY : Number(microseconds / 1_000n);
  }

  async isPreparing(): Promise<boolean> {
    return (await this.#bus.property(logindManager, 'PreparingForShutdown')) === true;
  }

  async raiseDelayLimit(seconds: number): Promise<void> {
    const { clock, configFile = defaultConfigFile } = this.#options;
    await withDeadline({ clock, ms: writeMs, what: `writing ${configFile}` }, async () => {
      await mkdir(dirname(configFile), { recursive: true, mode: 0o755 });
      // logind reads no file of another ending.
      await writeFile(`${configFile}.tmp`, configurationText(seconds), { mode: 0o644 });
      await rename(`${configFile}.tmp`, configFile);
    });
    await this.#bus.call(systemdManager, 'KillUnit', 'ssi', [unit, 'all', hangUp]);
  }

  async takeLock(signal: AbortSignal): Promise<InhibitorLock> {
    const { busAddress = systemBusAddress, clock, inhibit } = this.#options;
    const env = { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: busAddress };
    return await takeInhibitorLock({ clock, env, signal, ...inhibit });
  }

  close(): void {
    this.#bus.close();
  }
}

function isOwnerChange({ body: [name] = [], member, sender }: Message): boolean {
  return (
    sender === busDaemon.destination && member === 'NameOwnerChanged' && name === logindManager.destination
  );
}

function configurationText(seconds: number): string {
  return `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${seconds}\n`;
}
