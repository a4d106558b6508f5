// The mounts of FlexVolumes in pods' directories. Upstream: mounter.go, unmounter.go and util.go in pkg/volume/flexvolume.
// Invariants: a volume is mounted once; a mount that failed or was interrupted halfway does not count; secrets are read for a
// mount only and never kept.
import type { Pod } from '../../api/k8s/types.ts';
import type { StorageObjects } from '../../api/ports/storage-objects.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { applyFsGroup, type OwnershipDeps } from '../ownership.ts';
import type { SetUpRequest, SetUpVolume, VolumeOnDisk } from '../plugin.ts';
import { callDriver, type FlexDriver } from './driver-call.ts';
import { driverAt, globalMountDir } from './driver-name.ts';
import { driverOptions, type FlexSource, flexSource, mountOptions } from './driver-options.ts';
import type { GlobalMounts, GlobalMountsDeps } from './global-mounts.ts';
import { sensitiveForms } from './sensitive.ts';
import { isMounted, undoMount } from './undo.ts';

export interface PodMountsDeps extends GlobalMountsDeps, OwnershipDeps {
  readonly secrets: Pick<StorageObjects, 'volumeSecret'>;
}

export class FlexPodMounts {
  readonly #deps: PodMountsDeps;
  readonly #globals: GlobalMounts;
  /** Paths whose mount did not succeed, or is in flight. */
  readonly #unfinished = new Set<string>();
  /** Paths whose files have their group. */
  readonly #owned = new Set<string>();

  constructor(deps: PodMountsDeps, globals: GlobalMounts) {
    this.#deps = deps;
    this.#globals = globals;
  }

  async setUp(request: SetUpRequest, signal: AbortSignal): Promise<SetUpVolume> {
    const { drivers, host } = this.#deps;
    const { path, spec } = request;
    const source = flexSource(spec);
    if (source === undefined) throw new KubeletError('invalid', 'FailedMount', 'no volume plugin matched');
    const known = drivers.lastKnown(source.driver);
    const driver = await drivers.use(source.driver, signal);
    // The caller holds the lock of the device only if it was known that there is one.
    if (known?.capabilities.attach !== driver.capabilities.attach)
      throw new KubeletError(
        'unavailable',
        'DriverReplaced',
        `FlexVolume driver ${driver.name} was replaced`,
      );
    const isPresent = (await isMounted(host, path)) && !this.#unfinished.has(path);
    if (!isPresent) {
      if (await isMounted(host, path)) await this.#unmount(path, spec.directoryName, signal);
      if (driver.capabilities.attach) await this.#globals.mount(driver, source, request, signal);
      await this.#mount(driver, source, request, signal);
    }
    await this.#own(driver, source, request, isPresent, signal);
    const managed = !source.readOnly && driver.capabilities.selinuxRelabel;
    return { location: { kind: 'path', path }, readOnly: source.readOnly, managed };
  }

  async tearDown({ directoryName, path }: VolumeOnDisk, signal: AbortSignal): Promise<void> {
    const { host } = this.#deps;
    // The mount table first: a stat of the mount may wait for its server.
    if (!(await isMounted(host, path)) && (await host.kindOf(path)) === undefined) return;
    await this.#unmount(path, directoryName, signal);
    await host.removeEmpty(path);
    this.#unfinished.delete(path);
    this.#owned.delete(path);
  }

  async #mount(
    driver: FlexDriver,
    source: FlexSource,
    request: SetUpRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const { host, programs } = this.#deps;
    const { owner, path, pod, spec } = request;
    const values = await this.#secrets(source, pod, signal);
    const options = driverOptions(source, spec, mountOptions(pod, owner.fsGroup, values));
    const secrets = sensitiveForms([...values.values()]);
    await host.makeDirectory(path, 0o750);
    this.#unfinished.add(path);
    this.#owned.delete(path);
    try {
      const call = { command: 'mount', args: [path, options], secrets } as const;
      if ((await callDriver(programs, driver, call, signal)) === undefined)
        await this.#bind(driver, source, request);
    } catch (err) {
      if (!signal.aborted && !(await isMounted(host, path)))
        await host.removeEmpty(path).catch(() => undefined);
      throw err;
    }
    this.#unfinished.delete(path);
  }

  /** For a driver without mount: the pod gets the global mount of the device. */
  async #bind(driver: FlexDriver, { readOnly }: FlexSource, { path, spec }: SetUpRequest): Promise<void> {
    const { host, layout } = this.#deps;
    const device = globalMountDir(layout, { driver: driver.name, volume: spec.directoryName });
    // differs from upstream, which binds an empty directory of the node, so that the pod writes to the node's disk.
    if (!(await isMounted(host, device)))
      throw new KubeletError(
        'invalid',
        'FailedMount',
        `FlexVolume driver ${driver.name} does not support mount, and nothing is mounted on ${device}`,
      );
    await host.bind(device, path, { readOnly });
  }

  async #own(
    { capabilities }: FlexDriver,
    { readOnly }: FlexSource,
    request: SetUpRequest,
    wasMounted: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { owner, path } = request;
    if (readOnly || !capabilities.fsGroup || this.#owned.has(path)) return;
    // The walk changes the root last. A root with another group means that an interrupted walk has to be completed.
    const onlyOnRootMismatch = wasMounted || owner.onlyOnRootMismatch;
    await applyFsGroup(this.#deps, request, { readOnly: false, onlyOnRootMismatch }, signal);
    this.#owned.add(path);
  }

  async #unmount(path: string, volume: string, signal: AbortSignal): Promise<void> {
    const { host, layout } = this.#deps;
    const driver = driverAt(path);
    const unmount = async (): Promise<void> => await host.unmount(path);
    // A bind mount of the global mount: the driver keeps the device, and releases it by unmountdevice.
    const isEnough = async (): Promise<boolean> =>
      (await host.mountReferences(path)).includes(globalMountDir(layout, { driver, volume }));
    await undoMount(this.#deps, { driver, command: 'unmount', path, unmount, isEnough }, signal);
    if (await isMounted(host, path))
      throw new KubeletError('conflict', 'EBUSY', `${path} is still mounted after unmount`);
  }

  /** In base64, by key. */
  async #secrets(
    { driver, secret }: FlexSource,
    { metadata }: Pod,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const namespace = secret?.namespace ?? metadata?.namespace ?? '';
    if (secret === undefined || namespace === '') return new Map();
    const fail = (kind: KubeletError['kind'], why: string, cause?: unknown): KubeletError =>
      new KubeletError(kind, 'FailedMount', `couldn't get secret ${namespace}/${secret.name} err: ${why}`, {
        cause,
      });
    const found = await this.#deps.secrets
      .volumeSecret(namespace, secret.name, signal)
      .catch((err: unknown) => {
        if (signal.aborted) throw err;
        throw fail(err instanceof KubeletError ? err.kind : 'internal', describeError(err), err);
      });
    if (found.type !== driver) throw fail('invalid', `cannot get secret of type ${driver}`);
    return new Map(
      Object.entries(found.data ?? {}).map(([key, value]) => [
        key,
        Buffer.from(value, 'base64').toString('base64'),
      ]),
    );
  }
}
