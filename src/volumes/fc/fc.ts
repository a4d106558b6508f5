// The fc plugin: volumes on disks of a Fibre Channel network, which the node's adapters are already logged in to.
// Upstream: pkg/volume/fc.
import type { VolumePlugin, VolumeSpec } from '../plugin.ts';
import type { AttachRequest, DetachRequest, DiskKind, FoundDisk } from '../scsi/disk-kind.ts';
import { type DiskPluginDeps, diskPlugin } from '../scsi/disk-plugin.ts';
import {
  type FcPlace,
  fcAttachName,
  fcDisk,
  fcName,
  fcPlace,
  fcRoots,
  fcSource,
  isFcName,
  parseFcPlace,
} from './fc-disk.ts';
import { detachFcDisk, fcDevices, findFcDisk } from './fc-search.ts';

export function fcPlugin(deps: DiskPluginDeps): VolumePlugin {
  const { devices, host, layout } = deps;
  const kind: DiskKind<FcPlace> = {
    name: fcName,
    files: [],
    sourceOf(spec: VolumeSpec) {
      const source = fcSource(spec);
      if (source === undefined) return undefined;
      // A persistent volume is read-only if the claim's use is.
      const readOnly = spec.readOnly || (spec.persistent === undefined && source.readOnly === true);
      return { fsType: source.fsType ?? '', readOnly };
    },
    attachName: fcAttachName,
    placeOf: (spec) => fcPlace(layout.pluginsDir, fcDisk(spec), spec.isBlock),
    identifiersOf: (spec) => fcDisk(spec).identifiers,
    async list() {
      const places: FcPlace[] = [];
      for (const root of fcRoots(layout.pluginsDir))
        for (const name of await host.listDirectories(root.path)) {
          const place = parseFcPlace(root, name);
          if (place !== undefined) places.push(place);
        }
      return places;
    },
    isNameOf: isFcName,
    volumesOf: () => Promise.resolve([]),
    attach: ({ spec }: AttachRequest<FcPlace>, signal) => findFcDisk(deps, fcDisk(spec), signal),
    detach: (request: DetachRequest<FcPlace>, signal) => detachFcDisk(deps, request, signal),
    devicesOf: ({ place, record }: FoundDisk<FcPlace>) =>
      fcDevices(devices, { identifiers: record?.identifiers ?? place.identifiers, lun: place.lun }),
  };
  return diskPlugin(deps, kind);
}
