// Slices of systemd: started, changed and stopped as transient units. Upstream: startUnit, stopUnit, setUnitProperties and
// retryOnDisconnect in libcontainer's systemd/common.go and dbus.go.
// Invariants: one connection at a time, made with the first call and again after it was lost; a call that a lost connection
// cut off is made again, which is safe since a unit that exists is as good as one that was started; a job is waited for.

import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import {
  type BusConnection,
  type BusPlaces,
  connectToSystemd,
  toWire,
  usualPlaces,
} from './bus-connection.ts';
import { systemdVersionOf, type UnitProperty } from './unit-properties.ts';

interface SystemdUnitsOptions {
  readonly clock: Clock;
  readonly places?: BusPlaces;
}

const jobMs = 30_000;
const tries = 3;
/** Replaces a job of the unit that is queued already. */
const mode = 'replace';

/** Who waits for a job, or what became of it before anybody could wait. */
interface Jobs {
  readonly waiting: Map<string, { resolve(result: string): void; reject(err: KubeletError): void }>;
  readonly ended: Map<string, string>;
}

export class SystemdUnits {
  readonly #options: SystemdUnitsOptions;
  #connection: Promise<BusConnection> | undefined;
  #version: Promise<number> | undefined;
  readonly #jobs = new WeakMap<BusConnection, Jobs>();
  /** Jobs asked for whose number is not known yet: until it is, what ends has to be remembered. */
  #asking = 0;

  constructor(options: SystemdUnitsOptions) {
    this.#options = options;
  }

  /** The first number of its version; -1 where it does not say. */
  async version(): Promise<number> {
    this.#version ??= this.#retry((connection) => connection.version()).then(systemdVersionOf);
    try {
      return await this.#version;
    } catch (err) {
      this.#version = undefined;
      throw err;
    }
  }

  /** A unit of that name that exists is left as it is. */
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

  /** One that is not there has stopped. */
  async stop(unit: string): Promise<void> {
    await this.#retry((connection) =>
      this.#job(connection, 'StopUnit', 'ss', [unit, mode]).catch((err: unknown) => {
        if (err instanceof KubeletError && err.reason === 'NoSuchUnit') return 'done';
        throw err;
      }),
    );
    await this.#resetFailed(unit);
  }

  /** Until the next boot. */
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

  /** systemd keeps units that failed; it may not have one. */
  async #resetFailed(unit: string): Promise<void> {
    await this.#retry((connection) => connection.call('ResetFailedUnit', 's', [unit])).catch(
      (err: unknown) => {
        if (!(err instanceof KubeletError) || err.kind === 'unavailable' || err.kind === 'timeout') throw err;
      },
    );
  }

  /** What the job came to: done, canceled, timeout, failed, dependency, skipped. */
  async #job(
    connection: BusConnection,
    member: string,
    signature: string,
    body: readonly unknown[],
  ): Promise<string> {
    const { clock } = this.#options;
    const jobs = this.#jobs.get(connection);
    if (jobs === undefined) throw disconnected();
    this.#asking++;
    let job: string;
    try {
      job = String(await connection.call(member, signature, body));
    } finally {
      this.#asking--;
    }
    const known = jobs.ended.get(job);
    if (this.#asking === 0) jobs.ended.clear();
    if (known !== undefined) return known;
    const result = new Promise<string>((resolve, reject) => void jobs.waiting.set(job, { resolve, reject }));
    try {
      const what = `${member} ${String(body[0])}`;
      return await withDeadline({ clock, ms: jobMs, what }, () => result);
    } finally {
      jobs.waiting.delete(job);
    }
  }

  async #retry<T>(work: (connection: BusConnection) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.#connect();
      try {
        return await work(connection);
      } catch (err) {
        const isLost = err instanceof KubeletError && err.reason === 'Disconnected';
        if (!isLost || attempt === tries) throw err;
      }
    }
  }

  async #connect(): Promise<BusConnection> {
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

  async #open(): Promise<BusConnection> {
    const { clock, places = usualPlaces } = this.#options;
    const connection = await connectToSystemd(places, clock);
    const jobs: Jobs = { waiting: new Map(), ended: new Map() };
    this.#jobs.set(connection, jobs);
    connection.onJob = (job, result) => {
      const waiting = jobs.waiting.get(job);
      if (waiting !== undefined) waiting.resolve(result);
      else if (this.#asking > 0) jobs.ended.set(job, result);
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
