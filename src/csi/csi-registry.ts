// Registers CSI drivers: asks a driver for its node ID, publishes it, and serves the driver to volumes.
// Owns the registered drivers (sole writer). Invariants: a registration that fails leaves nothing of itself; a driver that hangs
// delays no other driver and no other registration of its name; what the API has of a driver is written by one registration at a
// time. Upstream: registrationHandler in pkg/volume/csi/csi_plugin.go.
import type {
  CsiDialer,
  CsiDriverClient,
  CsiDrivers,
  CsiRegistration,
  CsiRegistry,
} from '../api/ports/csi.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { Channel } from '../base/channel.ts';
import type { Clock, Timer } from '../base/clock.ts';
import type { Component, LoopLoad } from '../base/component.ts';
import { Aborted, describeError, KubeletError } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { type DriverInfo, driverInfo, registrationFault } from './driver-info.ts';
import { DriverRegistrations, type Registration } from './driver-registrations.ts';
import type { NodeInfoWriter } from './node-info-writer.ts';

interface RegisteredDriversDeps {
  readonly dialer: CsiDialer;
  /** Undefined on a standalone node, where no driver can register. */
  readonly nodeInfo: Pick<NodeInfoWriter, 'install' | 'update' | 'uninstall'> | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Longer than the deadline of 2 min that the client of a driver has for every call. */
const operationMs = 125_000;
const cleanupBackoff = { initialMs: 1_000, maxMs: 60_000 };
const mostRegistrations = 256;

export class RegisteredDrivers implements CsiDrivers, CsiRegistry, Component {
  readonly name = 'csi-drivers';
  readonly changed = new Channel<string>();
  readonly #deps: RegisteredDriversDeps;
  readonly #registrations = new DriverRegistrations();
  /** The drivers that this process may have written into Node or CSINode. */
  readonly #published = new Set<string>();
  /** The last write per driver, which the next one waits for. */
  readonly #turns = new Map<string, Promise<void>>();
  readonly #refreshing = new Map<string, Promise<void>>();
  readonly #retired = new Map<CsiDriverClient, Timer>();
  readonly #cleanup: KeyedQueue<string>;
  readonly #stop = new AbortController();

  constructor(deps: RegisteredDriversDeps) {
    this.#deps = deps;
    this.#cleanup = new KeyedQueue({
      clock: deps.clock,
      parallel: 1,
      backoff: cleanupBackoff,
      run: (driver, signal) => this.#inTurn(driver, () => this.#unpublish(driver, signal)),
      onError: (driver, err, retryInMs) =>
        deps.log.error('Failed to remove CSI driver from Node and CSINode', { driver, err, retryInMs }),
    });
  }

  loopLoad(): LoopLoad {
    return this.#cleanup.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#cleanup.start();
    return { stopped: untilAborted(signal).then(() => this.#end()) };
  }

  /** While a driver registers for the first time it serves already, as upstream: its volumes do not wait for the API server. */
  get(driver: string): CsiDriverClient | undefined {
    return this.#registrations.newest(driver)?.client;
  }

  names(): readonly string[] {
    return this.#registrations.names();
  }

  /** Whether a registration of the driver has succeeded. */
  isRegistered(driver: string): boolean {
    return this.#registrations.serving(driver) !== undefined;
  }

  validate(driver: CsiRegistration): string | undefined {
    return registrationFault(driver);
  }

  async register(driver: CsiRegistration, signal: AbortSignal): Promise<void> {
    const fault = registrationFault(driver);
    if (fault !== undefined) throw new KubeletError('invalid', 'InvalidDriver', fault);
    if (this.#registrations.size >= mostRegistrations)
      throw new KubeletError(
        'forbidden',
        'TooManyDrivers',
        `${mostRegistrations} CSI drivers are registered`,
      );
    const { endpoint, name } = driver;
    const client = this.#deps.dialer.client(name, endpoint);
    const own: Registration = { driver: name, endpoint, client, info: undefined };
    this.#registrations.add(own);
    this.changed.push(name);
    let mayHaveWritten = false;
    const onWrite = (): void => {
      mayHaveWritten = true;
    };
    try {
      const info = driverInfo(name, await this.#ask(own, AbortSignal.any([signal, this.#stop.signal])));
      await this.#inTurn(name, () => this.#install(own, info, signal, onWrite));
    } catch (err) {
      await this.#undo(own, mayHaveWritten || contradictsEntry(err));
      throw err;
    }
    this.changed.push(name);
  }

  /** A failed removal from the API's objects is retried until it succeeds or a driver of the name registers. */
  async deregister({ endpoint, name }: Pick<CsiRegistration, 'name' | 'endpoint'>): Promise<void> {
    const going = this.#registrations.at(name, endpoint);
    if (going.length === 0) return;
    for (const each of going) this.#remove(each);
    this.changed.push(name);
    await this.#inTurn(name, () => this.#republish(name));
  }

  /** Asks the driver again how many volumes it can attach, and updates CSINode. Callers at the same time share one call. */
  refreshAllocatable(driver: string): Promise<void> {
    const running = this.#refreshing.get(driver);
    if (running !== undefined) return running;
    const refresh = this.#refresh(driver).finally(() => this.#refreshing.delete(driver));
    this.#refreshing.set(driver, refresh);
    return refresh;
  }

  /** Publishes every driver again, after the Node was created again. */
  async publishAgain(): Promise<void> {
    const names = this.names().filter((driver) => this.isRegistered(driver));
    await Promise.all(names.map((driver) => this.#inTurn(driver, () => this.#republish(driver))));
  }

  async #refresh(driver: string): Promise<void> {
    const serving = this.#registrations.serving(driver);
    const { signal } = this.#stop;
    if (serving === undefined) {
      const why = `driver name ${driver} not found in the list of registered CSI drivers`;
      const text = `failed to create CSI client for driver "${driver}": ${why}`;
      throw new KubeletError('not-found', 'DriverNotFound', text);
    }
    const info = await explained(`failed to get NodeGetInfo from driver "${driver}": `, async () =>
      driverInfo(driver, await this.#ask(serving, signal)),
    );
    await this.#inTurn(driver, async () => {
      // Otherwise another registration has published its own count meanwhile.
      if (this.#registrations.serving(driver) !== serving) return;
      const { nodeInfo } = this.#deps;
      await explained(`failed to update driver "${driver}": `, async () => nodeInfo?.update(info, signal));
      serving.info = info;
    });
  }

  #ask({ client }: Registration, signal: AbortSignal): ReturnType<CsiDriverClient['info']> {
    const options = { clock: this.#deps.clock, ms: operationMs, signal, what: 'NodeGetInfo' };
    return withDeadline(options, (stop) => client.info(stop));
  }

  async #install(
    own: Registration,
    info: DriverInfo,
    signal: AbortSignal,
    onWrite: () => void,
  ): Promise<void> {
    const { nodeInfo } = this.#deps;
    if (nodeInfo === undefined)
      throw new KubeletError('unavailable', 'NoApiServer', 'error getting kube client');
    this.#throwIfGone(own, signal);
    await nodeInfo.install(info, signal, () => {
      this.#published.add(own.driver);
      onWrite();
    });
    this.#throwIfGone(own, signal);
    this.#published.add(own.driver);
    this.#registrations.succeed(own, info);
    for (const older of this.#registrations.at(own.driver, own.endpoint))
      if (older !== own) this.#remove(older);
  }

  #throwIfGone(own: Registration, signal: AbortSignal): void {
    signal.throwIfAborted();
    if (!this.#registrations.has(own)) throw new Aborted('the driver was deregistered meanwhile');
  }

  /**
   * `isStale`: what the API has of the driver is wrong, or may be.
   * differs from upstream: a driver that does not respond after a restart of the kubelet keeps its entry in CSINode.
   */
  async #undo(own: Registration, isStale: boolean): Promise<void> {
    const { driver } = own;
    this.#remove(own);
    this.changed.push(driver);
    if (isStale || this.#published.has(driver)) await this.#inTurn(driver, () => this.#republish(driver));
  }

  /** Publishes the registration that serves now, or removes the driver from the API's objects. */
  async #republish(driver: string): Promise<void> {
    const { log, nodeInfo } = this.#deps;
    const { signal } = this.#stop;
    const info = this.#registrations.serving(driver)?.info;
    try {
      signal.throwIfAborted();
      if (info === undefined) await this.#unpublish(driver, signal);
      else await nodeInfo?.install(info, signal);
    } catch (err) {
      if (signal.aborted) return;
      log.error('Failed to update what Node and CSINode have of a CSI driver', { driver, err });
      if (info === undefined) this.#cleanup.addAfter(driver, cleanupBackoff.initialMs);
    }
  }

  async #unpublish(driver: string, signal: AbortSignal): Promise<void> {
    // A registration in progress publishes itself, or removes what is left if it fails.
    if (this.#registrations.hasName(driver)) return;
    await this.#deps.nodeInfo?.uninstall(driver, signal);
    this.#published.delete(driver);
  }

  #inTurn(driver: string, work: () => Promise<void>): Promise<void> {
    const turn = (this.#turns.get(driver) ?? Promise.resolve()).then(work);
    const ended: Promise<void> = turn
      .catch(() => undefined)
      .finally(() => {
        if (this.#turns.get(driver) === ended) this.#turns.delete(driver);
      });
    this.#turns.set(driver, ended);
    return turn;
  }

  /** The socket of the registrar is gone, but the driver may be about to finish a call. */
  #remove(registration: Registration): void {
    if (!this.#registrations.has(registration)) return;
    this.#registrations.remove(registration);
    const { client } = registration;
    const close = (): void => {
      this.#retired.delete(client);
      client.close();
    };
    if (this.#stop.signal.aborted) client.close();
    else this.#retired.set(client, this.#deps.clock.setTimer(operationMs, close));
  }

  async #end(): Promise<void> {
    this.#stop.abort(new Aborted('the kubelet is stopping'));
    this.#cleanup.abortAll();
    for (const [client, timer] of this.#retired) {
      timer.cancel();
      client.close();
    }
    for (const { client } of this.#registrations.all()) client.close();
    await this.#cleanup.stop();
  }
}

/** The driver's answer, or the API server, contradicts what an earlier process may have published. */
function contradictsEntry(err: unknown): boolean {
  return (
    err instanceof KubeletError && ['InvalidNodeInfo', 'TopologyCollision', 'Invalid'].includes(err.reason)
  );
}

async function explained<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const reason = err instanceof KubeletError ? err.reason : 'RefreshFailed';
    throw new KubeletError(kind, reason, `${what}${describeError(err)}`, { cause: err });
  }
}
