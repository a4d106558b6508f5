// Mounts volumes at paths that the kubelet names. Notes every mount, unmount and violation in the events.
// Invariant: nothing is ever mounted on top of another mount.
import { chmodSync, chownSync, closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { VolumeCapability } from '../../src/api/csi/generated/csi/v1/csi.ts';
import { CallError, type Code } from './grpc.ts';
import { bind, lookUp, mountsAt, mustRun } from './host.ts';
import { directoryKind, tmpfsKind } from './kinds/directories.ts';
import { blockKind, ext4Kind } from './kinds/images.ts';
import type { KindOfVolume } from './kinds/volume-kind.ts';
import type { VolumeKind } from './options.ts';
import type { VolumeRecord, VolumeStore } from './volume-store.ts';

interface MountOrder {
  readonly path: string;
  readonly capability: VolumeCapability | undefined;
  readonly readonly: boolean;
}

export class VolumeMounts {
  readonly #store: VolumeStore;
  readonly #kinds: Readonly<Record<VolumeKind, KindOfVolume>>;

  constructor(store: VolumeStore) {
    const folder = (handle: string): string => store.folder(handle);
    this.#store = store;
    this.#kinds = {
      directory: directoryKind(folder),
      tmpfs: tmpfsKind(folder),
      ext4: ext4Kind(folder),
      block: blockKind(folder),
    };
  }

  kind({ kind }: VolumeRecord): KindOfVolume {
    return this.#kinds[kind];
  }

  /** The paths that it is really staged to. */
  staged(volume: VolumeRecord): readonly string[] {
    return Object.keys(volume.staged).filter((path) => this.kind(volume).isStagedAt(volume, path));
  }

  /** The paths that it is really published at. */
  published(volume: VolumeRecord): readonly string[] {
    return Object.keys(volume.published).filter((path) => this.kind(volume).isMountedAt(volume, path));
  }

  /** Fails a call that no kubelet should make. */
  refuse(code: Code, { handle }: Pick<VolumeRecord, 'handle'>, path: string, why: string): never {
    this.#store.note('violation', handle, path, why);
    throw new CallError(code, `volume ${handle}, ${path}: ${why}`);
  }

  /** Mounts what attach() returned. */
  async mount(
    volume: VolumeRecord,
    source: string,
    { path, capability, readonly }: MountOrder,
  ): Promise<void> {
    this.#requireFree(volume, path);
    // Labels of SELinux are not for machines without it.
    const flags = (capability?.mount?.mountFlags ?? []).filter((flag) => !flag.includes('context='));
    const kind = this.kind(volume);
    await kind.mount(source, path, readonly ? [...flags, 'ro'] : flags);
    if (!readonly && !flags.includes('ro')) {
      kind.mark(volume, path);
      applyGroup(path, capability?.mount?.volumeMountGroup ?? '');
    }
    this.#note(volume, path);
  }

  /** Mounts a staged file system once more. */
  async bind(
    volume: VolumeRecord,
    staging: string,
    { path, capability, readonly }: MountOrder,
  ): Promise<void> {
    this.#requireFree(volume, path);
    const flags = capability?.mount?.mountFlags ?? [];
    await bind(staging, path, readonly ? [...flags, 'ro'] : flags);
    this.#note(volume, path);
  }

  async unmount(volume: VolumeRecord, path: string): Promise<void> {
    const count = mountsAt(path).length;
    if (count > 1)
      this.#store.note('violation', volume.handle, path, `${count} mounts are on top of each other`);
    for (let left = count; left > 0; left--) await mustRun('umount', path);
    if (count > 0) this.#store.note('unmount', volume.handle, path);
  }

  /** Creates the file or directory to mount on; its parent is the kubelet's to create. */
  prepareTarget(volume: VolumeRecord, path: string): void {
    if (!lookUp(dirname(path))?.isDirectory())
      this.refuse('FAILED_PRECONDITION', volume, path, 'the parent directory of the target does not exist');
    const found = lookUp(path);
    if (found?.isSymbolicLink()) rmSync(path);
    else if (found?.isDirectory() && readdirSync(path).length > 0 && mountsAt(path).length === 0)
      this.#store.note('violation', volume.handle, path, 'the target directory is not empty');
    if (volume.kind === 'block') closeSync(openSync(path, 'a', 0o600));
    else mkdirSync(path, { recursive: true, mode: 0o750 });
  }

  #requireFree(volume: VolumeRecord, path: string): void {
    if (mountsAt(path).length > 0) this.refuse('INTERNAL', volume, path, 'something else is mounted there');
  }

  #note(volume: VolumeRecord, path: string): void {
    this.#store.note('mount', volume.handle, path);
    const count = mountsAt(path).length;
    if (count !== 1) this.#store.note('violation', volume.handle, path, `${count} mounts after a mount`);
  }
}

/** What a driver with VOLUME_MOUNT_GROUP does instead of the kubelet. */
function applyGroup(path: string, group: string): void {
  if (group === '') return;
  const { uid, mode } = statSync(path);
  chownSync(path, uid, Number(group));
  chmodSync(path, (mode & 0o7777) | 0o2070);
}
