// The CRI requests of our kubelet in the form of the recordings: a path per field, without defaults, IDs numbered in
// order.
import { isObject } from '../../src/base/guards.ts';
import type { CallRecord } from '../fake-cri/gate.ts';
import type { Fields } from './recording.ts';

/** Fields with user-defined keys. */
const maps: ReadonlySet<string> = new Set(['labels', 'annotations', 'sysctls', 'unified']);
const seenAnnotation = 'kubernetes.io/config.seen';

const defaultPaths: Readonly<Record<string, string>> = {
  maskedPaths: [
    '/proc/asound',
    '/proc/acpi',
    '/proc/interrupts',
    '/proc/kcore',
    '/proc/keys',
    '/proc/latency_stats',
    '/proc/timer_list',
    '/proc/timer_stats',
    '/proc/sched_debug',
    '/proc/scsi',
    '/sys/firmware',
    '/sys/devices/virtual/powercap',
  ].join(),
  readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'].join(),
};

const serviceVariables: ReadonlySet<string> = new Set([
  'KUBERNETES_SERVICE_HOST=10.96.0.1',
  'KUBERNETES_SERVICE_PORT=443',
  'KUBERNETES_SERVICE_PORT_HTTPS=443',
  'KUBERNETES_PORT=tcp://10.96.0.1:443',
  'KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443',
  'KUBERNETES_PORT_443_TCP_PROTO=tcp',
  'KUBERNETES_PORT_443_TCP_PORT=443',
  'KUBERNETES_PORT_443_TCP_ADDR=10.96.0.1',
]);

/** SANDBOX1, CONTAINER2 …, numbered in the order of the create calls. */
export function namesOfIds(calls: readonly CallRecord[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { response } of calls) {
    const { podSandboxId, containerId } = (response ?? {}) as { podSandboxId?: string; containerId?: string };
    if (podSandboxId !== undefined) names.set(podSandboxId, `SANDBOX${names.size + 1}`);
    if (containerId !== undefined) names.set(containerId, `CONTAINER${names.size + 1}`);
  }
  return names;
}

interface PlainOptions {
  readonly uid: string;
  readonly rootDir: string;
  /** The recorded ID of an image that has another ID in the fake runtime. */
  readonly imageId: (id: string) => string;
}

/** The calls that recordings hold: without repeated probes and removals. */
export function plainCalls(
  calls: readonly CallRecord[],
  options: PlainOptions,
): readonly (readonly unknown[])[] {
  const names = namesOfIds(calls);
  const plain = calls.flatMap((call) => {
    const one = plainCall(call, names, options);
    return one === undefined ? [] : [one];
  });
  const probes = new Set<string>();
  return plain.filter((call) => {
    if (call[0] !== 'ExecSync') return true;
    const text = JSON.stringify(call);
    return !probes.has(text) && probes.add(text);
  });
}

interface AnyRequest {
  readonly config?: object;
  readonly containerId?: string;
  readonly podSandboxId?: string;
  readonly timeout?: bigint | number;
  readonly cmd?: readonly string[];
  readonly image?: { readonly image?: string };
  readonly annotations?: object;
}

function plainCall(
  { method, request }: CallRecord,
  names: ReadonlyMap<string, string>,
  options: PlainOptions,
): readonly unknown[] | undefined {
  const { config = {}, containerId = '', podSandboxId = '', timeout = 0, cmd, image } = request as AnyRequest;
  const name = names.get(containerId) ?? names.get(podSandboxId) ?? '';
  switch (method) {
    case 'RunPodSandbox':
      return [method, flatten(config, options)];
    case 'CreateContainer':
      return [method, (config as { metadata: { name: string } }).metadata.name, flatten(config, options)];
    case 'StartContainer':
    case 'StopPodSandbox':
      return [method, name];
    case 'StopContainer':
      return [method, name, Number(timeout)];
    case 'ExecSync':
      return [method, name, cmd, Number(timeout)];
    case 'PullImage':
      return [method, image?.image];
    case 'UpdateContainerResources':
    case 'UpdatePodSandboxResources': {
      const { annotations: _, containerId: __, podSandboxId: ___, ...rest } = request as AnyRequest;
      return [method, name, flatten(rest, options)];
    }
    default:
      return undefined;
  }
}

function flatten(config: object, options: PlainOptions): Fields {
  const fields: Record<string, unknown> = {};
  add(fields, '', config, options);
  return fields;
}

function add(fields: Record<string, unknown>, path: string, message: object, options: PlainOptions): void {
  for (const [key, value] of Object.entries(message) as [string, unknown][]) {
    const at = path === '' ? key : `${path}/${key}`;
    const leaf = plainLeaf(key, value, options);
    if (leaf === undefined || key === seenAnnotation) continue;
    const isEmptyMap = maps.has(key) && Object.keys(leaf as object).length === 0;
    if (isEmptyMap) continue;
    if (isObject(leaf)) {
      if (Object.keys(leaf).length > 0) add(fields, at, leaf, options);
      if (!Object.keys(fields).some((each) => each.startsWith(`${at}/`)) && !maps.has(key)) fields[at] = {};
    } else fields[at] = leaf;
  }
}

/** The value without defaults; undefined if nothing is left. */
function plainLeaf(key: string, value: unknown, options: PlainOptions): unknown {
  if (value === undefined || value === '' || value === 0 || value === 0n || value === false) return undefined;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string') return plainText(value, options);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (!Array.isArray(value)) return value;
  if (value.length === 0) return undefined;
  if (defaultPaths[key] === value.join()) return 'default';
  if (key === 'envs') return plainEnvs(value as EnvVariable[]);
  // Upstream keeps the options of a pod in a map, too.
  if (key === 'options') return (value as string[]).toSorted();
  return value.map((each: unknown) =>
    isObject(each) ? plainMessage(each, options) : plainLeaf('', each, options),
  );
}

function plainMessage(message: object, options: PlainOptions): Fields {
  return Object.fromEntries(
    Object.entries(message)
      .filter(([key]) => key !== seenAnnotation)
      .map(([key, value]: [string, unknown]) => [key, plainLeaf(key, value, options)] as const)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, isObject(value) ? plainMessage(value, options) : value] as const),
  );
}

function plainText(text: string, { uid, rootDir, imageId }: PlainOptions): string {
  return imageId(text)
    .replaceAll(uid, 'UID')
    .replace(rootDir, 'ROOT')
    .replace(/(\/containers\/[^/]+)\/[0-9a-f]{8}$/, '$1/ID');
}

interface EnvVariable {
  readonly key: string;
  readonly value?: Uint8Array | string;
}

/**
 * Sorted, since upstream keeps variables in a map. Those of the one service of the cluster are replaced by a marker.
 */
function plainEnvs(envs: readonly EnvVariable[]): readonly string[] {
  const lines = envs.map(({ key, value }) => `${key}=${envText(value)}`);
  const own = lines
    .filter((line) => !serviceVariables.has(line))
    .map((line) => line.replace(/^IP=10\.8[89]\..*/, 'IP=ADDRESS'))
    .toSorted();
  return lines.length - own.length === serviceVariables.size ? [...own, 'services'] : own;
}

function envText(value: Uint8Array | string = ''): string {
  return typeof value === 'string' ? value : Buffer.from(value).toString('utf8');
}
