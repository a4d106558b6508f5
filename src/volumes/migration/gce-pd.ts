// Translates kubernetes.io/gce-pd. The project is not known to the kubelet; the driver completes the handle.
// Pure. Upstream: staging/src/k8s.io/csi-translation-lib/plugins/gce_pd.go.
import type {
  CSIPersistentVolumeSource,
  GCEPersistentDiskVolumeSource,
  PersistentVolume,
} from '../../api/k8s/types.ts';
import { csiSource } from './csi-source.ts';
import { zonesOfLabels } from './topology.ts';
import type { Translator } from './translator.ts';
import { untranslatable } from './untranslatable.ts';

const driver = 'pd.csi.storage.gke.io';
const unspecified = 'UNSPECIFIED';

export const gcePersistentDisk: Translator = {
  field: 'gcePersistentDisk',
  topology: { zone: 'topology.gke.io/zone' },
  persistent(volume) {
    const source = volume.spec?.gcePersistentDisk;
    if (!source) return undefined;
    const accessModes = volume.spec?.accessModes;
    return {
      csi: translate(source, placeOf(volume)),
      ...(accessModes && { accessModes: [accessModeOf(accessModes)] }),
    };
  },
  inline({ gcePersistentDisk: source }) {
    if (!source) return undefined;
    return {
      csi: translate(source, `zones/${unspecified}`),
      name: `${driver}-${source.pdName}`,
      accessMode: source.readOnly === true ? 'ReadOnlyMany' : 'ReadWriteOnce',
    };
  },
};

function translate(source: GCEPersistentDiskVolumeSource, place: string): CSIPersistentVolumeSource {
  const { pdName, readOnly, fsType } = source;
  const handle = `projects/${unspecified}/${place}/disks/${pdName}`;
  const partition = source.partition ?? 0;
  const attributes = { partition: partition === 0 ? '' : String(partition) };
  return csiSource({ driver, handle, readOnly, fsType, attributes });
}

/** Several zones: a regional disk. */
function placeOf(volume: PersistentVolume): string {
  const zones = zonesOfLabels(volume);
  return zones.length > 1 ? `regions/${regionOf(zones)}` : `zones/${zones[0] ?? unspecified}`;
}

function regionOf(zones: readonly string[]): string {
  const regions = new Set(zones.map(regionOfZone));
  const [region = ''] = regions;
  if (regions.size === 1) return region;
  // As Go prints a set of strings.
  const list = [...regions].sort().map((each) => `${each}:{}`);
  throw noRegion(`multiple or no regions gotten from zones, got: map[${list.join(' ')}]`);
}

function regionOfZone(zone: string): string {
  const [locale, region, ...rest] = zone.split('-');
  if (region === undefined || rest.length !== 1)
    throw noRegion(`zone in unexpected format, expected: {locale}-{region}-{zone}, got: ${zone}`);
  return `${locale}-${region}`;
}

function noRegion(why: string): Error {
  return untranslatable(`failed to get region from zones: ${why}`);
}

/** The driver knows neither ReadWriteMany nor two modes, which the in-tree plugin treated as ReadWriteOnce. */
function accessModeOf(modes: readonly string[]): string {
  const isReadWrite = modes.includes('ReadWriteOnce') || modes.includes('ReadWriteMany');
  return !isReadWrite && modes.includes('ReadOnlyMany') ? 'ReadOnlyMany' : 'ReadWriteOnce';
}
