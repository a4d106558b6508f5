// Reads what a FlexVolume driver printed: one JSON object. Pure. Upstream: handleCmdResponse and DriverStatus in
// pkg/volume/flexvolume/driver-call.go.
// Invariant: a driver's output never becomes part of an error here: it may repeat the options, which hold secrets.
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';

export interface DriverCapabilities {
  readonly attach: boolean;
  readonly selinuxRelabel: boolean;
  readonly supportsMetrics: boolean;
  readonly fsGroup: boolean;
  readonly requiresFSResize: boolean;
}

export interface DriverAnswer {
  readonly status: string;
  readonly message: string;
  /** The path of an attached device, or whatever the driver recognises it by. */
  readonly device: string;
  readonly capabilities: DriverCapabilities;
}

/** Of a driver that does not mention them. */
export const defaultCapabilities: DriverCapabilities = {
  attach: true,
  selinuxRelabel: true,
  supportsMetrics: false,
  fsGroup: true,
  requiresFSResize: true,
};

const longestDevice = 4096;

/** Throws `invalid` if the output is not such an object. Names are matched in any case, as Go does. */
export function readAnswer(output: string): DriverAnswer {
  const answer = fieldsOf(parsed(output), '');
  const device = text(answer, 'device');
  if (device.length > longestDevice || device.includes('\0')) throw malformed('its device is not a path');
  return {
    status: text(answer, 'status'),
    message: text(answer, 'message'),
    device,
    capabilities: readCapabilities(answer.get('capabilities')),
  };
}

// differs from upstream, where `"capabilities": null` ends the kubelet.
function readCapabilities(value: unknown): DriverCapabilities {
  if (value === undefined || value === null) return defaultCapabilities;
  const given = fieldsOf(value, 'its capabilities are');
  const has = (name: keyof DriverCapabilities): boolean => {
    const flag = given.get(name.toLowerCase()) ?? defaultCapabilities[name];
    if (typeof flag !== 'boolean') throw malformed(`its capability ${name} is not a boolean`);
    return flag;
  };
  return {
    attach: has('attach'),
    selinuxRelabel: has('selinuxRelabel'),
    supportsMetrics: has('supportsMetrics'),
    fsGroup: has('fsGroup'),
    requiresFSResize: has('requiresFSResize'),
  };
}

function parsed(output: string): unknown {
  try {
    return JSON.parse(output);
  } catch {
    throw malformed(output.trim() === '' ? 'it is empty' : 'it is not JSON');
  }
}

/** By name in lower case, the last one of several: a Map, since the names come from outside. */
function fieldsOf(value: unknown, what: string): ReadonlyMap<string, unknown> {
  if (!isObject(value)) throw malformed(`${what === '' ? 'it is' : what} not a JSON object`);
  return new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
}

function text(fields: ReadonlyMap<string, unknown>, name: string): string {
  const value = fields.get(name) ?? '';
  if (typeof value !== 'string') throw malformed(`its ${name} is not a string`);
  return value;
}

function malformed(why: string): KubeletError {
  return new KubeletError('invalid', 'MalformedAnswer', `the answer is malformed: ${why}`);
}
