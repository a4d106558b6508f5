// The flags of the CSI driver.
import { join } from 'node:path';
import { parseArgs } from 'node:util';

export const volumeKinds = ['directory', 'tmpfs', 'ext4', 'block'] as const;
export type VolumeKind = (typeof volumeKinds)[number];

const capabilityNames = [
  'stage',
  'stats',
  'expand',
  'volume-mount-group',
  'single-node-multi-writer',
] as const;
export type CapabilityName = (typeof capabilityNames)[number];

const defaultCapabilities: readonly CapabilityName[] = ['stage', 'stats', 'expand'];

export interface DriverOptions {
  readonly driverName: string;
  /** The root directory of the kubelet. */
  readonly rootDir: string;
  readonly nodeId: string;
  readonly dataDir: string;
  /** The kind of volumes whose context and handle name none. */
  readonly kind: VolumeKind;
  readonly capabilities: ReadonlySet<CapabilityName>;
  readonly topology: Readonly<Record<string, string>>;
  /** 0: the driver reports no limit. */
  readonly maxVolumes: number;
  /** Those that the driver registers with. */
  readonly versions: readonly string[];
  readonly vendorVersion: string;
  /** Part of the names of the sockets, for several processes of one driver. */
  readonly instance: string;
  /** The size of volumes whose context has none. */
  readonly sizeBytes: number;
  readonly maxSizeBytes: number;
  /** The control file of the faults. */
  readonly faults: string;
  /** Gets a JSON line per request, and one per response. */
  readonly log: string;
}

export const usage = `Usage: main.ts [flags]
  --driver-name=test.csi.example.com
  --root-dir=DIR       the kubelet's root directory
  --data-dir=DIR       volumes and their state
  --node-id=node1
  --kind=directory     directory, tmpfs, ext4 or block; a volume context "kind" and a handle prefix "<kind>-" come first
  --capabilities=stage,stats,expand   also volume-mount-group, single-node-multi-writer; "" for none
  --topology=key=value,…
  --max-volumes=0
  --versions=1.11.0,…
  --vendor-version=1
  --instance=          part of the names of the sockets, for a second process of the same driver
  --size=33554432      of volumes whose context has no "size"
  --max-size=1073741824
  --faults=FILE        orders of faults.ts
  --log=FILE           a JSON line per request and per response`;

const text = (value: string): { readonly type: 'string'; readonly default: string } => ({
  type: 'string',
  default: value,
});

/** Throws on flags that are unknown or wrong. */
export function parseOptions(args: readonly string[]): DriverOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'driver-name': text('test.csi.example.com'),
      'root-dir': text('/var/lib/kubelet'),
      'data-dir': text(''),
      'node-id': text('node1'),
      kind: text('directory'),
      capabilities: text(defaultCapabilities.join(',')),
      topology: text(''),
      'max-volumes': text('0'),
      versions: text('1.11.0'),
      'vendor-version': text('1'),
      instance: text(''),
      size: text(String(32 * 1024 ** 2)),
      'max-size': text(String(1024 ** 3)),
      faults: text(''),
      log: text(''),
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const dataDir = values['data-dir'];
  if (dataDir === '') throw new Error('--data-dir is required');
  return {
    driverName: values['driver-name'],
    rootDir: values['root-dir'],
    nodeId: values['node-id'],
    dataDir,
    kind: oneOf(volumeKinds, values.kind, '--kind'),
    capabilities: new Set(
      listOf(values.capabilities).map((name) => oneOf(capabilityNames, name, '--capabilities')),
    ),
    topology: Object.fromEntries(listOf(values.topology).map(pairOf)),
    maxVolumes: Number(values['max-volumes']),
    versions: listOf(values.versions),
    vendorVersion: values['vendor-version'],
    instance: values.instance,
    sizeBytes: Number(values.size),
    maxSizeBytes: Number(values['max-size']),
    faults: values.faults === '' ? join(dataDir, 'faults.json') : values.faults,
    log: values.log === '' ? join(dataDir, 'calls.jsonl') : values.log,
  };
}

function listOf(value: string): readonly string[] {
  return value.split(',').filter((each) => each !== '');
}

function pairOf(pair: string): readonly [string, string] {
  const at = pair.indexOf('=');
  if (at < 1) throw new Error(`--topology: "${pair}" is not key=value`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}

function oneOf<Name extends string>(names: readonly Name[], value: string, flag: string): Name {
  const found = names.find((name) => name === value);
  if (found === undefined) throw new Error(`${flag}: "${value}" is none of ${names.join(', ')}`);
  return found;
}

/** The sockets of an instance of the driver. */
export function socketsOf({
  rootDir,
  driverName,
  instance,
}: Pick<DriverOptions, 'rootDir' | 'driverName' | 'instance'>): {
  readonly registration: string;
  readonly endpoint: string;
} {
  const suffix = instance === '' ? '' : `-${instance}`;
  return {
    registration: join(rootDir, 'plugins_registry', `${driverName}-reg${suffix}.sock`),
    endpoint: join(rootDir, 'plugins', driverName, `csi${suffix}.sock`),
  };
}
