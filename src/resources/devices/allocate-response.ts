// Checks and encodes a device plugin's answer to Allocate, before anything of it reaches a container. Pure.
// Invariants: what passes has absolute paths, no NUL and a bounded size; equal answers have equal bytes.
// differs from upstream, which passes any answer on to the container runtime.
import { isRelaxedEnvVarName } from '../../api/k8s/names.ts';
import { ContainerAllocateResponse } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';

/** Of devices, mounts, environment variables, annotations and CDI devices, each. */
const mostParts = 1_000;
const longestPath = 4_096;
/** Every checkpoint has all responses. */
const mostBytes = 256 * 1024;

const permissions = /^[rwm]{0,3}$/;

/** Why the response cannot be used; undefined if it can. */
export function computeResponseFault(response: ContainerAllocateResponse): string | undefined {
  const { annotations, cdiDevices, devices, envs, mounts } = response;
  const envNames = Object.keys(envs);
  const annotationKeys = Object.keys(annotations);
  for (const [what, count] of [
    ['devices', devices.length],
    ['mounts', mounts.length],
    ['environment variables', envNames.length],
    ['annotations', annotationKeys.length],
    ['CDI devices', cdiDevices.length],
  ] as const)
    if (count > mostParts) return `it has ${count} ${what}, more than ${mostParts}`;
  for (const device of devices) {
    const fault = pathsFault('device', device);
    if (fault !== undefined) return fault;
    if (!permissions.test(device.permissions))
      return `device ${short(device.containerPath)} has the permissions ${short(device.permissions)}`;
  }
  for (const mount of mounts) {
    const fault = pathsFault('mount', mount);
    if (fault !== undefined) return fault;
  }
  const badName = envNames.find((name) => isRelaxedEnvVarName(name).length > 0);
  if (badName !== undefined) return `environment variable name ${short(badName)} is invalid`;
  if (annotationKeys.includes('')) return 'it has an annotation without a name';
  if (cdiDevices.some(({ name }) => name === '')) return 'it has a CDI device without a name';
  const texts = [
    ...Object.values(envs),
    ...annotationKeys,
    ...Object.values(annotations),
    ...cdiDevices.map(({ name }) => name),
  ];
  const withNul = texts.find((text) => text.includes('\0'));
  if (withNul !== undefined) return `${short(withNul)} has a NUL character`;
  const size = encodeResponse(response).length;
  return size > mostBytes ? `it has ${size} bytes, more than ${mostBytes}` : undefined;
}

function pathsFault(
  what: string,
  { containerPath, hostPath }: { readonly containerPath: string; readonly hostPath: string },
): string | undefined {
  for (const [side, path] of [
    ['container', containerPath],
    ['host', hostPath],
  ] as const) {
    if (!path.startsWith('/')) return `${what} has the ${side} path ${short(path)}, which is not absolute`;
    if (path.includes('\0')) return `${what} has the ${side} path ${short(path)} with a NUL character`;
    if (path.length > longestPath) return `${what} has a ${side} path of ${path.length} characters`;
  }
  return undefined;
}

function short(text: string): string {
  return JSON.stringify(text.length <= 64 ? text : `${text.slice(0, 64)}…`);
}

/** Protobuf leaves the order of map entries open; they are sorted. */
export function encodeResponse(response: ContainerAllocateResponse): Uint8Array {
  const { annotations, envs } = response;
  const sorted = { ...response, envs: sortedEntries(envs), annotations: sortedEntries(annotations) };
  return ContainerAllocateResponse.encode(sorted).finish();
}

/** Undefined if the bytes are no response. */
export function decodeResponse(bytes: Uint8Array): ContainerAllocateResponse | undefined {
  try {
    return ContainerAllocateResponse.decode(bytes);
  } catch {
    return undefined;
  }
}

function sortedEntries(map: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
