// Starts, changes and stops systemd slices as transient units. Upstream: startUnit, stopUnit, setUnitProperties and
// retryOnDisconnect in libcontainer's systemd/common.go and dbus.go.
// Invariants: one connection at a time, opened by the first call and reopened after a loss; a call cut off by a lost
// connection is retried, which is safe because a unit that exists counts as started; start and stop wait for their job.

import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import {
  type BusAddresses,
  connectToSystemd,
  defaultAddresses,
  type SystemdConnection,
  toWire,
} from './systemd-connection.ts';
import { systemdVersionOf, type UnitProperty } from './unit-properties.ts';

interface SystemdUnitsOptions {
  readonly clock: Clock;
  readonly addresses?: BusAddresses;
}

const jobMs = 30_000;
const maxAttempts = 3;
/** Replaces a queued job of the unit. */
const mode = 'replace';

/** The waiters by job, and the results of jobs that ended before their waiter was registered. */
interface Jobs {
  readonly waiting: Map<string, { resolve(result: string): void; reject(err: KubeletError): void }>;
  readonly ended: Map<string, string>;
}

export class SystemdUnits {
  readonly #options: SystemdUnitsOptions;
  #connection: Promise<SystemdConnection> | undefined;
  #version: Promise<number> | undefined;
  readonly #jobs = new WeakMap<SystemdConnection, Jobs>();
  /** Calls whose job path is not known yet: until it is, results have to be kept. */
  #pendingCalls = 0;

  constructor(options: SystemdUnitsOptions) {
    this.#options = options;
  }

  /** The major version of systemd; -1 if unknown. */
  async version(): Promise<number> {
    this.#version ??= this.#retry((connection) => connection.version()).then(systemdVersionOf);
    try {
      return await this.#version;
    } catch (err) {
      this.#version = undefined;
      throw err;
    }
  }

  /** An existing unit of that name is left as it is. */
  async start(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    const wire = await toWire(properties);
    const result = await this.#retry((connection) =>
      this.#job(connection, 'StartTransientUnit', 'ssa(sv)a(sa(sv))', [unit, mode, wire, []]).catch(
        (err: unknown) => {
          if (err instanceof KubeletError && err.reason === 'UnitExists') return 'done';
          throw err;
        },
      ),
    );
    if (result === 'done') return;
    await this.#resetFailed(unit);
    throw new KubeletError(
      'internal',
      'SystemdJob',
      `error creating systemd unit \`${unit}\`: got \`${result}\``,
    );
  }

  /** A missing unit counts as stopped. */
  async stop(unit: string): Promise<void> {
    await this.#retry((connection) =>
      this.#job(connection, 'StopUnit', 'ss', [unit, mode]).catch((err: unknown) => {
        if (err instanceof KubeletError && err.reason === 'NoSuchUnit') return 'done';
        throw err;
      }),
    );
    await this.#resetFailed(unit);
  }

  /** Changes properties at run time only, not across a reboot. */
  async set(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    const wire = await toWire(properties);
    await this.#retry((connection) => connection.call('SetUnitProperties', 'sba(sv)', [unit, true, wire]));
  }

  close(): void {
    void this.#connection?.then(
      (connection) => connection.close(),
      () => undefined,
    );
    this.#connection = undefined;
  }

  /** systemd keeps failed units until they are reset. Errors for a missing unit are ignored. */
  async #resetFailed(unit: string): Promise<void> {
    await this.#retry((connection) => connection.call('ResetFailedUnit', 's', [unit])).catch(
      (err: unknown) => {
        if (!(err instanceof KubeletError) || err.kind === 'unavailable' || err.kind === 'timeout') throw err;
      },
    );
  }

  /** Returns the job's result: done, canceled, timeout, failed, dependency, skipped. */
  async #job(
    connection: SystemdConnection,
    member: string,
    signature: string,
    body: readonly unknown[],
  ): Promise<string> {
    const { clock } = this.#options;
    const jobs = this.#jobs.get(connection);
    if (jobs === undefined) throw disconnected();
    this.#pendingCalls++;
    let job: string;
    try {
      job = String(await connection.call(member, signature, body));
    } finally {
      this.#pendingCalls--;
    }
    const ended = jobs.ended.get(job);
    if (this.#pendingCalls === 0) jobs.ended.clear();
    if (ended !== undefined) return ended;
    const result = new Promise<string>((resolve, reject) => void jobs.waiting.set(job, { resolve, reject }));
    try {
      const what = `${member} ${String(body[0])}`;
      return await withDeadline({ clock, ms: jobMs, what }, () => result);
    } finally {
      jobs.waiting.delete(job);
    }
  }

  async #retry<T>(work: (connection: SystemdConnection) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.#connect();
      try {
        return await work(connection);
      } catch (err) {
        const isDisconnected = err instanceof KubeletError && err.reason === 'Disconnected';
        if (!isDisconnected || attempt === maxAttempts) throw err;
      }
    }
  }

  async #connect(): Promise<SystemdConnection> {
    const opening = (this.#connection ??= this.#open());
    try {
      const connection = await opening;
      if (!connection.isClosed) return connection;
    } catch (err) {
      if (this.#connection === opening) this.#connection = undefined;
      throw err;
    }
    if (this.#connection === opening) this.#connection = undefined;
    return await this.#connect();
  }

  async #open(): Promise<SystemdConnection> {
    const { clock, addresses = defaultAddresses } = this.#options;
    const connection = await connectToSystemd(addresses, clock);
    const jobs: Jobs = { waiting: new Map(), ended: new Map() };
    this.#jobs.set(connection, jobs);
    connection.onJob = (job, result) => {
      const waiting = jobs.waiting.get(job);
      if (waiting !== undefined) waiting.resolve(result);
      else if (this.#pendingCalls > 0) jobs.ended.set(job, result);
    };
    connection.onClose = () => {
      for (const waiting of jobs.waiting.values()) waiting.reject(disconnected());
    };
    return connection;
  }
}

function disconnected(): KubeletError {
  return new KubeletError('unavailable', 'Disconnected', 'the connection to systemd was closed');
}
