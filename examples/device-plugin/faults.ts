// For tests, not to be copied: a log of the calls, and faults that a control file turns on and off.
// The control file is JSON, replaced by a rename, read at every call and several times a second.
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DeviceList, SampleDevice } from './device.ts';
import type { Respond } from './service.ts';

/** What happens instead of an answer: nothing, the end of the process, an error, or one of `garbage`. */
type Fault = 'hang' | 'exit' | 'error' | GarbageName;

export interface FaultOrders {
  /** By name of the call: Allocate, ListAndWatch, GetInfo, … */
  readonly onCall?: Readonly<Record<string, Fault>>;
  readonly unhealthy?: readonly string[];
  /** Devices that the list omits. */
  readonly missing?: readonly string[];
  /** So many updates of the list as fast as possible, once per number. */
  readonly flood?: number;
}

/** A line of the call log. */
export interface LoggedCall {
  readonly pid: number;
  readonly call: string;
  readonly request: unknown;
  readonly fault?: Fault;
}

type GarbageName = keyof typeof garbage;

const empty = { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] };
const container = (over: object): unknown => ({ containerResponses: [{ ...empty, ...over }] });

/** Answers that no plugin should give. */
const garbage = {
  'no-containers': () => ({ containerResponses: [] }),
  'relative-paths': () =>
    container({
      devices: [{ hostPath: '../dev/null', containerPath: 'dev/sample', permissions: 'rw' }],
      mounts: [{ hostPath: 'etc', containerPath: '../etc', readOnly: true }],
    }),
  'bad-permissions': () =>
    container({ devices: [{ hostPath: '/dev/null', containerPath: '/dev/x', permissions: 'everything' }] }),
  'missing-node': () =>
    container({ devices: [{ hostPath: '/dev/none-such', containerPath: '/dev/x', permissions: 'r' }] }),
  'huge-env': () => container({ envs: { HUGE: 'x'.repeat(3_000_000) } }),
  'oversized-answer': () => container({ envs: { HUGE: 'x'.repeat(40_000_000) } }),
  'unknown-devices': () => ({ containerResponses: [{ deviceIDs: ['nobody', 'asked', 'for-these', ''] }] }),
  'odd-devices': () => ({
    devices: ['a', 'a', '', 'x'.repeat(100_000)].map((ID) => ({ ID, health: 'Fine', topology: undefined })),
  }),
  'too-many-devices': () => ({
    devices: Array.from({ length: 200_000 }, (_, index) => ({
      ID: `many-${index}`,
      health: 'Healthy',
      topology: undefined,
    })),
  }),
} as const;

function readOrders(file: string): FaultOrders {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as FaultOrders;
  } catch {
    return {};
  }
}

/** Logs every call to `log` before it is answered, with the faults that the control file orders. */
export function respondWithFaults(control: string | undefined, log: string | undefined): Respond {
  return async (call, request, answer) => {
    const fault = control === undefined ? undefined : readOrders(control).onCall?.[call];
    if (log !== undefined) {
      const line: LoggedCall = { pid: process.pid, call, request, ...(fault === undefined ? {} : { fault }) };
      appendFileSync(log, `${JSON.stringify(line)}\n`);
    }
    if (fault === undefined) return answer();
    if (fault === 'exit') process.exit(1);
    if (fault === 'error') throw new Error(`${call} fails on order`);
    if (fault === 'hang') return new Promise<never>(() => undefined);
    return garbage[fault]() as ReturnType<typeof answer>;
  };
}

/** Applies the orders that concern the list of devices, until the signal. */
export async function steerDevices(control: string, devices: DeviceList, signal: AbortSignal): Promise<void> {
  const all = devices.all();
  let applied = '';
  let flooded = 0;
  while (!signal.aborted) {
    const { unhealthy = [], missing = [], flood = 0 } = readOrders(control);
    const list = all
      .filter(({ id }) => !missing.includes(id))
      .map((device): SampleDevice => ({ ...device, healthy: !unhealthy.includes(device.id) }));
    const text = JSON.stringify(list);
    if (text !== applied) devices.set(list);
    applied = text;
    if (flood > 0 && flood !== flooded) await floodUpdates(devices, list, flood);
    flooded = flood;
    await sleep(50, undefined, { signal }).catch(() => undefined);
  }
}

/** Ends with the true list. */
async function floodUpdates(
  devices: DeviceList,
  list: readonly SampleDevice[],
  count: number,
): Promise<void> {
  const ill = list.map((device) => ({ ...device, healthy: false }));
  for (let sent = 0; sent < count; sent++) {
    devices.set(sent % 2 === 0 ? ill : list);
    if (sent % 500 === 499) await sleep(0);
  }
  devices.set(list);
}
