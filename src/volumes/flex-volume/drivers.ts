// The FlexVolume drivers of this node: found in their directory, initialised once per executable. Sole owner of their states.
// Upstream: pkg/volume/flexvolume/probe.go and the factory in plugin.go.
// Invariants: a driver is called only after the init of the executable that exists now; what is known of a removed driver stays
// known, since its volumes are still mounted; a driver that hangs or fails delays no other one.
import type { HostPrograms } from '../../api/ports/host-programs.ts';
import { raceAbort, untilAborted } from '../../base/abort/race-abort.ts';
import { Channel } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import type { Component, LoopLoad } from '../../base/component.ts';
import { Aborted, describeError, KubeletError } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';
import { callDriver, type FlexDriver } from './driver-call.ts';
import { checkDriverName, directoryOfDriver, driverOfDirectory, isDriverName } from './driver-name.ts';

/** What is at the place of a driver's executable. */
export type DriverFile =
  | { readonly is: 'missing' }
  /** `why`: as `<path> is not executable`. */
  | { readonly is: 'refused'; readonly why: string }
  | { readonly is: 'executable'; readonly path: string; readonly identity: string };

/** The directory of drivers. */
export interface DriverFiles {
  /** `directory`: `vendor~driver`. */
  inspect(directory: string): Promise<DriverFile>;
  /** Reports the directories with a file of a driver, each with a stamp that changes when that file does. At once and on change. */
  watch(onDrivers: (stamps: ReadonlyMap<string, string>) => void): { close(): void };
}

interface FlexDriversDeps {
  /** volumePluginDir, for messages. */
  readonly directory: string;
  readonly files: DriverFiles;
  readonly programs: Pick<HostPrograms, 'run'>;
  readonly clock: Clock;
  readonly log: Logger;
}

type DriverState =
  | { readonly is: 'ready'; readonly driver: FlexDriver }
  | { readonly is: 'unusable'; readonly why: string };

const parallelInits = 4;
/** How long the start of the kubelet waits for the drivers, so that volumesInUse is complete from the beginning. */
const startMs = 5_000;

export class FlexDrivers implements Component {
  readonly name = 'flex-volume-drivers';
  /** Announces the name of a driver that was initialised, failed or was removed. */
  readonly changed = new Channel<string>();
  readonly #deps: FlexDriversDeps;
  readonly #queue: KeyedQueue<string>;
  readonly #states = new Map<string, DriverState>();
  /** Also of drivers that were removed. */
  readonly #lastKnown = new Map<string, FlexDriver>();
  readonly #inits = new Map<string, Promise<FlexDriver>>();
  readonly #lifetime = new AbortController();
  #stamps: ReadonlyMap<string, string> | undefined;

  constructor(deps: FlexDriversDeps) {
    const { clock, log } = deps;
    this.#deps = deps;
    this.#queue = new KeyedQueue<string>({
      clock,
      parallel: parallelInits,
      run: (name, signal) => this.#check(name, signal),
      backoff: { initialMs: 1_000, maxMs: 60_000, jitter: 0.1 },
      onError: (driver, err, retryInMs) =>
        log.warn('Failed to initialize FlexVolume driver', { driver, retryInMs, err: describeError(err) }),
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  /** Resolves when the drivers that exist are initialised, after a few seconds in any case. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { clock, files } = this.#deps;
    this.#queue.start();
    let scanned = (): void => undefined;
    const firstScan = new Promise<void>((resolve) => {
      scanned = resolve;
    });
    const watch = files.watch((stamps) => {
      this.#adopt(stamps);
      scanned();
    });
    const stopped = this.#drain(signal, watch);
    const done = new AbortController();
    const within = AbortSignal.any([signal, done.signal]);
    const initialised = firstScan.then(() => this.#settled(within));
    await Promise.race([initialised, clock.sleep(startMs, within)]).catch(() => undefined);
    done.abort(new Aborted('the start has ended'));
    return { stopped };
  }

  /** What a volume of this driver waits for; undefined if the driver is usable, or can never be. */
  missing(name: string): string | undefined {
    if (!isDriverName(name)) return undefined;
    const state = this.#states.get(name);
    if (state?.is === 'ready') return undefined;
    const { directory } = this.#deps;
    if (state !== undefined) return `FlexVolume driver ${name} to be usable: ${state.why}`;
    if (this.#stamps === undefined) return `the first scan of ${directory} for FlexVolume drivers`;
    const exists = this.#stamps.has(directoryOfDriver(name));
    return `FlexVolume driver ${name} to ${exists ? 'be initialized' : `appear in ${directory}`}`;
  }

  /** As of its last init, even if it was removed or replaced since. */
  lastKnown(name: string): FlexDriver | undefined {
    return this.#lastKnown.get(name);
  }

  /** The driver as it is on disk now, initialised again if it was replaced. */
  async use(name: string, signal: AbortSignal): Promise<FlexDriver> {
    const { directory, files } = this.#deps;
    checkDriverName(name);
    const file = await raceAbort(files.inspect(directoryOfDriver(name)), signal);
    if (file.is === 'missing') {
      this.#set(name, undefined);
      const message = `driver not found: no FlexVolume driver ${name} in ${directory}`;
      throw new KubeletError('not-found', 'DriverNotFound', message);
    }
    if (file.is === 'refused') {
      this.#set(name, { is: 'unusable', why: file.why });
      throw new KubeletError(
        'forbidden',
        'DriverRefused',
        `FlexVolume driver ${name} is refused: ${file.why}`,
      );
    }
    const state = this.#states.get(name);
    if (state?.is === 'ready' && state.driver.identity === file.identity && state.driver.path === file.path)
      return state.driver;
    return await raceAbort(this.#initialize(name, file), signal);
  }

  #adopt(stamps: ReadonlyMap<string, string>): void {
    const before = this.#stamps ?? new Map<string, string>();
    this.#stamps = stamps;
    for (const directory of new Set([...before.keys(), ...stamps.keys()])) {
      const name = driverOfDirectory(directory);
      // A directory that no volume can name: not worth a warning.
      if (!isDriverName(name) || directoryOfDriver(name) !== directory) continue;
      if (before.get(directory) !== stamps.get(directory)) this.#queue.add(name);
    }
  }

  /** A driver that is missing or refused is checked again when its file changes; a failed init is repeated. */
  async #check(name: string, signal: AbortSignal): Promise<void> {
    await this.use(name, signal).catch((err: unknown) => {
      if (!isUnavailableFile(err)) throw err;
      if (err.kind === 'forbidden') this.#deps.log.warn('Refused FlexVolume driver', { driver: name, err });
    });
  }

  /** One init per executable at a time, for all its callers. It ends with this component, not with the first of them. */
  #initialize(name: string, file: { readonly path: string; readonly identity: string }): Promise<FlexDriver> {
    const key = `${name} ${file.identity}`;
    const running = this.#inits.get(key);
    if (running !== undefined) return running;
    const init = this.#init(name, file).finally(() => this.#inits.delete(key));
    init.catch(() => undefined);
    this.#inits.set(key, init);
    return init;
  }

  async #init(
    name: string,
    { identity, path }: { readonly path: string; readonly identity: string },
  ): Promise<FlexDriver> {
    const { log, programs } = this.#deps;
    const unsupported = new Set<string>();
    try {
      const call = { command: 'init', args: [] } as const;
      const answer = await callDriver(programs, { name, path, unsupported }, call, this.#lifetime.signal);
      if (answer === undefined)
        throw new KubeletError('invalid', 'DriverFailed', 'init command failed: Not supported');
      const driver = { name, path, identity, capabilities: answer.capabilities, unsupported };
      this.#lastKnown.set(name, driver);
      this.#set(name, { is: 'ready', driver });
      log.info('Initialized FlexVolume driver', { driver: name, path, ...answer.capabilities });
      return driver;
    } catch (err) {
      if (!this.#lifetime.signal.aborted) this.#set(name, { is: 'unusable', why: describeError(err) });
      const kind = err instanceof KubeletError ? err.kind : 'internal';
      const message = `FlexVolume driver ${name} cannot be initialized`;
      throw new KubeletError(kind, 'DriverFailed', message, { cause: err });
    }
  }

  #set(name: string, state: DriverState | undefined): void {
    const before = this.#states.get(name);
    if (state === undefined) this.#states.delete(name);
    else this.#states.set(name, state);
    const isSame =
      before?.is === state?.is &&
      (state?.is !== 'unusable' || (before?.is === 'unusable' && before.why === state.why)) &&
      (state?.is !== 'ready' || (before?.is === 'ready' && before.driver === state.driver));
    if (isSame) return;
    if (before !== undefined && state === undefined)
      this.#deps.log.info('FlexVolume driver was removed', { driver: name });
    this.changed.push(name);
  }

  /** Resolves when every driver of the latest scan has a state. */
  async #settled(signal: AbortSignal): Promise<void> {
    const isOpen = (): boolean =>
      [...(this.#stamps?.keys() ?? [])]
        .map(driverOfDirectory)
        .some((name) => isDriverName(name) && !this.#states.has(name));
    if (!isOpen()) return;
    let unsubscribe = (): void => undefined;
    const settled = new Promise<void>((resolve) => {
      unsubscribe = this.changed.subscribe(() => {
        if (!isOpen()) resolve();
      });
    });
    await raceAbort(settled, signal).finally(unsubscribe);
  }

  async #drain(signal: AbortSignal, watch: { close(): void }): Promise<void> {
    await untilAborted(signal);
    watch.close();
    this.#lifetime.abort(signal.reason);
    await this.#queue.stop();
    await Promise.allSettled(this.#inits.values());
  }
}

/** Whether a driver is missing or refused, as opposed to one that failed. */
function isUnavailableFile(err: unknown): err is KubeletError {
  return err instanceof KubeletError && (err.reason === 'DriverNotFound' || err.reason === 'DriverRefused');
}
