// The iscsi plugin: volumes on LUNs that the node logs in to. Upstream: pkg/volume/iscsi.
// Invariants: log-ins and log-outs of one target never overlap; what a log-in needs to be undone is on disk before it begins.
import type { StorageObjects } from '../../api/ports/storage-objects.ts';
import { describeError, isKind, KubeletError } from '../../base/errors.ts';
import { DeviceLocks } from '../devices/device-locks.ts';
import type { SetUpFailureDetails, VolumePlugin, VolumeSpec } from '../plugin.ts';
import type { AttachRequest, DetachRequest, DiskKind } from '../scsi/disk-kind.ts';
import { type DiskPluginDeps, diskPlugin } from '../scsi/disk-plugin.ts';
import { attachIscsi } from './iscsi-attach.ts';
import { detachIscsi } from './iscsi-detach.ts';
import { iscsiFileName, readIscsiFile, writeIscsiFile } from './iscsi-file.ts';
import type { ChapSecret } from './iscsi-login.ts';
import { lunDevices } from './iscsi-sysfs.ts';
import {
  type IscsiPlace,
  type IscsiTarget,
  iscsiAttachName,
  iscsiName,
  iscsiPlace,
  iscsiRoots,
  iscsiSource,
  iscsiTarget,
  isIscsiName,
  parseIscsiPlace,
} from './iscsi-target.ts';

interface IscsiPluginDeps extends DiskPluginDeps {
  readonly storage: Pick<StorageObjects, 'volumeSecret'>;
}

export function iscsiPlugin(deps: IscsiPluginDeps): VolumePlugin {
  return diskPlugin(deps, new IscsiDisks(deps));
}

class IscsiDisks implements DiskKind<IscsiPlace> {
  readonly name = iscsiName;
  readonly files = [iscsiFileName];
  readonly attachName = iscsiAttachName;
  readonly isNameOf = isIscsiName;
  readonly #deps: IscsiPluginDeps;
  /** By IQN. */
  readonly #targets = new DeviceLocks();

  constructor(deps: IscsiPluginDeps) {
    this.#deps = deps;
  }

  sourceOf(spec: VolumeSpec): { readonly fsType: string; readonly readOnly: boolean } | undefined {
    const source = iscsiSource(spec);
    if (source === undefined) return undefined;
    // A persistent volume is read-only if the claim's use is.
    const readOnly = spec.readOnly || (spec.persistent === undefined && source.readOnly === true);
    return { fsType: source.fsType ?? '', readOnly };
  }

  placeOf(spec: VolumeSpec): IscsiPlace {
    return iscsiPlace(this.#deps.layout.pluginsDir, iscsiTarget(spec), spec.isBlock);
  }

  identifiersOf(spec: VolumeSpec): readonly string[] {
    return iscsiTarget(spec).portals;
  }

  async list(): Promise<readonly IscsiPlace[]> {
    const { host, layout } = this.#deps;
    const places: IscsiPlace[] = [];
    for (const root of iscsiRoots(layout.pluginsDir))
      for (const iface of await host.listDirectories(root.path))
        for (const name of iface.startsWith('iface-')
          ? await host.listDirectories(`${root.path}/${iface}`)
          : []) {
          const place = parseIscsiPlace(root, iface, name);
          if (place !== undefined) places.push(place);
        }
    return places;
  }

  async volumesOf(place: IscsiPlace): Promise<readonly string[]> {
    const file = place.isBlock ? await readIscsiFile(this.#deps.host, place) : undefined;
    return file === undefined ? [] : [file.volumeName];
  }

  async attach({ namespace, place, spec }: AttachRequest<IscsiPlace>, signal: AbortSignal): Promise<string> {
    const target = iscsiTarget(spec);
    const secret = await this.#secret(spec, target, namespace, signal);
    await writeIscsiFile(this.#deps.host, place, target);
    return await this.#targets.run(target.iqn, signal, () => attachIscsi(this.#deps, target, secret, signal));
  }

  async detach(request: DetachRequest<IscsiPlace>, signal: AbortSignal): Promise<void> {
    const file = await readIscsiFile(this.#deps.host, request.place);
    await this.#targets.run(request.place.iqn, signal, () => detachIscsi(this.#deps, request, file, signal));
  }

  /** Also the directory of an interface that was made for this volume. */
  async removed({ iface, path, portal }: IscsiPlace): Promise<void> {
    if (!iface.startsWith(`${portal}:`)) return;
    await this.#deps.host.removeEmptyOfPlugin(path.slice(0, path.lastIndexOf('/'))).catch((err: unknown) => {
      if (!isKind(err, 'conflict')) throw err;
    });
  }

  async devicesOf({ place }: { readonly place: IscsiPlace }): Promise<readonly string[]> {
    return await lunDevices(this.#deps.devices, place);
  }

  async #secret(
    spec: VolumeSpec,
    { chapDiscovery, chapSession }: IscsiTarget,
    namespace: string,
    signal: AbortSignal,
  ): Promise<ChapSecret> {
    const own = spec.persistent?.spec?.iscsi?.secretRef;
    const name = (own ?? iscsiSource(spec)?.secretRef)?.name ?? '';
    if ((!chapDiscovery && !chapSession) || name === '') return new Map();
    const from = own?.namespace === undefined || own.namespace === '' ? namespace : own.namespace;
    try {
      const { data = {} } = await this.#deps.storage.volumeSecret(from, name, signal);
      return new Map(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
      );
    } catch (err) {
      signal.throwIfAborted();
      const kind = err instanceof KubeletError ? err.kind : 'internal';
      const details: SetUpFailureDetails = { step: 'NewMounter initialization' };
      const message = `couldn't get secret ${from}/${name} error: ${describeError(err)}`;
      throw new KubeletError(kind, 'FailedMount', message, { cause: err, details: { ...details } });
    }
  }
}
