// The options that a FlexVolume driver gets as JSON, byte for byte upstream's. Pure.
// Upstream: NewOptionsForDriver in pkg/volume/flexvolume/driver-call.go, addSecretsToOptions in util.go.
import type { Pod } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';
import type { VolumeSpec } from '../plugin.ts';

export interface FlexSource {
  readonly driver: string;
  readonly fsType: string;
  readonly readOnly: boolean;
  readonly options: Readonly<Record<string, string>>;
  /** Without a namespace: that of the pod. */
  readonly secret: { readonly namespace: string | undefined; readonly name: string } | undefined;
}

/** Upstream's limit of the kernel: one argument of a program, with its final NUL (MAX_ARG_STRLEN). */
const longestArgument = 131_071;

/** Of a persistent volume or of the pod's spec; undefined for another kind of volume. */
export function flexSource({ persistent, readOnly, source }: VolumeSpec): FlexSource | undefined {
  const ofVolume = persistent?.spec?.flexVolume;
  const given = ofVolume ?? source.flexVolume;
  if (given === undefined) return undefined;
  const { driver, fsType = '', options = {}, secretRef } = given;
  const name = secretRef?.name ?? '';
  const namespace = ofVolume?.secretRef?.namespace;
  return {
    driver,
    fsType,
    // differs from upstream, which ignores the field of a persistent volume, although it is documented to force read-only.
    readOnly: readOnly || given.readOnly === true,
    options,
    secret: name === '' ? undefined : { name, namespace: namespace === '' ? undefined : namespace },
  };
}

/** `extra`: of a mount only. */
export function driverOptions(
  { fsType, options, readOnly }: FlexSource,
  { directoryName }: Pick<VolumeSpec, 'directoryName'>,
  extra: ReadonlyMap<string, string> = new Map(),
): string {
  const own = new Map([
    ['kubernetes.io/fsType', fsType],
    ['kubernetes.io/readwrite', readOnly ? 'ro' : 'rw'],
    ['kubernetes.io/pvOrVolumeName', directoryName],
    ...extra,
  ]);
  // differs from upstream, where the user's options win. The API refuses such keys, so only an old object may have them.
  const json = goJson(new Map([...Object.entries(options), ...own]));
  const bytes = Buffer.byteLength(json);
  if (bytes <= longestArgument) return json;
  const message = `the options and secrets of the volume have ${bytes} bytes, more than the ${longestArgument} of an argument`;
  throw new KubeletError('invalid', 'OptionsTooLong', message);
}

export function mountOptions(
  { metadata, spec }: Pod,
  fsGroup: number | undefined,
  secrets: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  return new Map([
    ['kubernetes.io/pod.name', metadata?.name ?? ''],
    ['kubernetes.io/pod.namespace', metadata?.namespace ?? ''],
    ['kubernetes.io/pod.uid', metadata?.uid ?? ''],
    ['kubernetes.io/serviceAccount.name', spec?.serviceAccountName ?? ''],
    ...[...secrets].map(([key, value]) => [`kubernetes.io/secret/${key}`, value] as const),
    ...(fsGroup === undefined ? [] : [['kubernetes.io/mounterArgs.FsGroup', String(fsGroup)] as const]),
  ]);
}

/** As Go's json.Marshal of a map: keys sorted by their bytes, and the characters of HTML escaped. */
function goJson(values: ReadonlyMap<string, string>): string {
  const sorted = [...values].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const text = `{${sorted.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`;
  return text.replace(
    /[<>&\u2028\u2029]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
