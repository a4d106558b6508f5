// Stages, publishes, expands and measures the volumes of this node. Strictly idempotent, as the specification demands: a
// repeated call for what is already done changes nothing. A call that no kubelet should make is noted as a violation.
// Invariant: the record of a path is written before the mount and removed after the unmount, so that a killed driver knows it.
import { rmdirSync, rmSync, symlinkSync } from 'node:fs';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type NodeExpandVolumeRequest,
  type NodeGetVolumeStatsRequest,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type VolumeCapability,
} from '../../src/api/csi/generated/csi/v1/csi.ts';
import {
  computeCapabilityFault,
  computeFieldFault,
  computeKind,
  computeRangeFault,
  type Fault,
  isMissing,
} from './checks.ts';
import { CallError } from './grpc.ts';
import { lookUp, mountsAt } from './host.ts';
import type { Usage } from './kinds/volume-kind.ts';
import type { DriverOptions } from './options.ts';
import { VolumeMounts } from './volume-mounts.ts';
import type { Use, VolumeRecord, VolumeStore } from './volume-store.ts';

type Context = Readonly<Record<string, string>>;

interface VolumeUsages {
  readonly bytes: Usage;
  readonly inodes?: Usage;
}

/** The handle that the kubelet makes for a pod's inline volume. */
const inlineHandle = /^csi-[0-9a-f]{64}$/;

export class NodeVolumes {
  readonly #options: DriverOptions;
  readonly #store: VolumeStore;
  readonly #mounts: VolumeMounts;

  constructor(options: DriverOptions, store: VolumeStore) {
    this.#options = options;
    this.#store = store;
    this.#mounts = new VolumeMounts(store);
  }

  async stage(request: NodeStageVolumeRequest): Promise<void> {
    const { volumeId, stagingTargetPath: path, volumeCapability: capability, volumeContext } = request;
    pass(computeFieldFault(request, ['volumeId', 'stagingTargetPath']));
    const volume = this.#ensure(volumeId, volumeContext, capability);
    const use = useOf(capability, false);
    const other = this.#mounts.staged(volume).find((each) => each !== path);
    if (other !== undefined)
      this.#mounts.refuse('FAILED_PRECONDITION', volume, path, `is already staged at ${other}`);
    if (!lookUp(path)?.isDirectory())
      this.#mounts.refuse('FAILED_PRECONDITION', volume, path, 'the staging directory does not exist');
    if (this.#mounts.kind(volume).isStagedAt(volume, path)) return agree(volume, path, volume.staged, use);
    this.#store.put({ ...volume, staged: { [path]: use } });
    const source = await this.#mounts.kind(volume).attach(volume);
    if (volume.kind !== 'block')
      await this.#mounts.mount(volume, source, { path, capability, readonly: false });
  }

  async unstage(volumeId: string, path: string): Promise<void> {
    pass(computeFieldFault({ volumeId, stagingTargetPath: path }, ['volumeId', 'stagingTargetPath']));
    const volume = this.#existing(volumeId);
    if (volume === undefined) return;
    const [target] = this.#mounts.published(volume);
    if (target !== undefined)
      this.#mounts.refuse('FAILED_PRECONDITION', volume, path, `is still published at ${target}`);
    if (volume.staged[path] !== undefined) await this.#mounts.unmount(volume, path);
    const staged = without(volume.staged, path);
    if (Object.keys(staged).length === 0) await this.#mounts.kind(volume).detach(volume);
    this.#store.put({ ...volume, staged });
  }

  async publish(request: NodePublishVolumeRequest): Promise<void> {
    const { volumeId, targetPath: path, volumeCapability: capability, volumeContext, readonly } = request;
    pass(computeFieldFault(request, ['volumeId', 'targetPath']));
    const volume = this.#ensure(volumeId, volumeContext, capability);
    const isStaged = this.#options.capabilities.has('stage') && !volume.ephemeral;
    if (isStaged) this.#requireStaged(volume, request);
    this.#requireWriter(volume, path, capability);
    const use = useOf(capability, readonly);
    if (this.#mounts.kind(volume).isMountedAt(volume, path))
      return agree(volume, path, volume.published, use);
    this.#mounts.prepareTarget(volume, path);
    this.#store.put({ ...volume, published: { ...volume.published, [path]: use } });
    const order = { path, capability, readonly };
    if (isStaged && volume.kind !== 'block')
      return this.#mounts.bind(volume, request.stagingTargetPath, order);
    return this.#mounts.mount(volume, await this.#mounts.kind(volume).attach(volume), order);
  }

  async unpublish(volumeId: string, path: string): Promise<void> {
    pass(computeFieldFault({ volumeId, targetPath: path }, ['volumeId', 'targetPath']));
    const volume = this.#existing(volumeId);
    if (volume === undefined) return;
    const found = lookUp(path);
    if (volume.published[path] !== undefined) {
      if (!found?.isSymbolicLink()) await this.#mounts.unmount(volume, path);
    } else if (mountsAt(path).length > 0)
      this.#mounts.refuse('INTERNAL', volume, path, 'was not published there, but something is mounted');
    if (found?.isDirectory()) rmdirSync(path);
    else rmSync(path, { force: true });
    const published = without(volume.published, path);
    this.#store.put({ ...volume, published });
    if (Object.keys(published).length > 0) return;
    if (volume.ephemeral || !this.#options.capabilities.has('stage'))
      await this.#mounts.kind(volume).detach(volume);
    if (volume.ephemeral) await this.#delete(volume);
  }

  /** Publishes a symbolic link to another path, as a driver in the hands of an attacker may. */
  link(
    { volumeId, targetPath, volumeContext, volumeCapability }: NodePublishVolumeRequest,
    to: string,
  ): void {
    const volume = this.#ensure(volumeId, volumeContext, volumeCapability);
    const published = { ...volume.published, [targetPath]: useOf(volumeCapability, false) };
    this.#store.put({ ...volume, published });
    if (lookUp(targetPath)?.isDirectory()) rmdirSync(targetPath);
    rmSync(targetPath, { force: true });
    symlinkSync(to, targetPath);
  }

  /** Returns the capacity. */
  async expand(request: NodeExpandVolumeRequest): Promise<number> {
    const { capacityRange } = request;
    const volume = this.#used(request);
    pass(computeRangeFault(capacityRange, this.#options.maxSizeBytes));
    const wanted = Number(capacityRange?.requiredBytes ?? 0n);
    if (wanted <= volume.sizeBytes) return volume.sizeBytes;
    await this.#mounts.kind(volume).grow(volume, wanted);
    this.#store.put({ ...volume, sizeBytes: wanted });
    return wanted;
  }

  async stats(request: NodeGetVolumeStatsRequest): Promise<VolumeUsages> {
    const volume = this.#used(request);
    return this.#mounts.kind(volume).usage(volume, request.volumePath);
  }

  /** The volume that is staged to or published at the path of the request. */
  #used(request: { readonly volumeId: string; readonly volumePath: string }): VolumeRecord {
    pass(computeFieldFault(request, ['volumeId', 'volumePath']));
    const volume = this.#existing(request.volumeId);
    const paths =
      volume === undefined ? [] : [...this.#mounts.staged(volume), ...this.#mounts.published(volume)];
    // The kubelet names the device of a block volume by a path of its own.
    const isDevice = volume?.kind === 'block' && lookUp(request.volumePath) !== undefined;
    if (volume === undefined || !(isDevice || paths.includes(request.volumePath)))
      throw new CallError('NOT_FOUND', `volume ${request.volumeId} is not at ${request.volumePath}`);
    return volume;
  }

  #existing(volumeId: string): VolumeRecord | undefined {
    if (isMissing(volumeId)) throw new CallError('NOT_FOUND', `volume ${volumeId} does not exist`);
    return this.#store.get(volumeId);
  }

  /** Volumes come into being with their first use, since this driver has no controller. */
  #ensure(handle: string, context: Context, capability: VolumeCapability | undefined): VolumeRecord {
    if (capability === undefined) pass(computeCapabilityFault(capability, 'directory', new Set()));
    const found = this.#existing(handle);
    const volume: VolumeRecord = found ?? {
      handle,
      kind: computeKind(handle, context, this.#options.kind),
      sizeBytes: Number(context['size'] ?? this.#options.sizeBytes),
      ephemeral: context['csi.storage.k8s.io/ephemeral'] === 'true' || inlineHandle.test(handle),
      staged: {},
      published: {},
    };
    pass(computeCapabilityFault(capability, volume.kind, this.#options.capabilities));
    if (found === undefined) {
      this.#store.put(volume);
      this.#store.note('create', handle, this.#store.folder(handle));
    }
    return volume;
  }

  #requireStaged(volume: VolumeRecord, { stagingTargetPath, targetPath }: NodePublishVolumeRequest): void {
    if (stagingTargetPath === '')
      this.#mounts.refuse('FAILED_PRECONDITION', volume, targetPath, 'is published without a staging path');
    if (!this.#mounts.staged(volume).includes(stagingTargetPath))
      this.#mounts.refuse('FAILED_PRECONDITION', volume, stagingTargetPath, 'is published but not staged');
  }

  #requireWriter(volume: VolumeRecord, path: string, capability: VolumeCapability | undefined): void {
    if (capability?.accessMode?.mode !== Mode.SINGLE_NODE_SINGLE_WRITER) return;
    const other = this.#mounts.published(volume).find((each) => each !== path);
    if (other !== undefined)
      this.#mounts.refuse('FAILED_PRECONDITION', volume, path, `has its only writer at ${other}`);
  }

  async #delete(volume: VolumeRecord): Promise<void> {
    await this.#mounts.kind(volume).destroy(volume);
    this.#store.remove(volume.handle);
    this.#store.note('delete', volume.handle, this.#store.folder(volume.handle));
  }
}

function pass(fault: Fault | undefined): void {
  if (fault !== undefined) throw new CallError(fault.code, fault.message);
}

function useOf(capability: VolumeCapability | undefined, readonly: boolean): Use {
  return { capability: JSON.stringify(capability ?? null), readonly };
}

/** Throws if the path is in use in another way. */
function agree({ handle }: VolumeRecord, path: string, uses: Readonly<Record<string, Use>>, use: Use): void {
  const before = uses[path];
  if (before !== undefined && (before.capability !== use.capability || before.readonly !== use.readonly))
    throw new CallError('ALREADY_EXISTS', `volume ${handle} is at ${path} in another way`);
}

function without(uses: Readonly<Record<string, Use>>, path: string): Readonly<Record<string, Use>> {
  const { [path]: _gone, ...rest } = uses;
  return rest;
}
