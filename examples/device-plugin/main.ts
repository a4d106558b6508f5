// A device plugin as a process of its own. It serves and registers until SIGTERM or SIGINT.
// Usage: node tools/run-ts.mjs examples/device-plugin/main.ts --devices=2
import { parseArgs } from 'node:util';
import { DeviceList, parseDevices } from './device.ts';
import { respondWithFaults, steerDevices } from './faults.ts';
import { keepInRegistry, keepRegistered } from './register.ts';
import { respondAtOnce, SampleService } from './service.ts';

const usage = `Usage: main.ts [flags]
  --resource=example.com/sample   the resource that pods request
  --devices=2                     a number, or a list of IDs
  --numa=0,0,1                    the NUMA node of each device, - for none
  --device-plugins-dir=DIR        where kubelet.sock is, by default /var/lib/kubelet/device-plugins
  --registry-dir=DIR              registers through this plugins_registry instead
  --mount=DIR                     a directory that containers get read-only at /var/lib/sample
  --cdi                           containers get CDI names instead of device nodes
  --pre-start                     the kubelet calls PreStartContainer before each start
  --preferred                     the kubelet calls GetPreferredAllocation before Allocate
For tests:
  --faults=FILE                   orders of faults.ts
  --log=FILE                      a JSON line per call`;

const text = (value = ''): { readonly type: 'string'; readonly default: string } => ({
  type: 'string',
  default: value,
});
const flag = { type: 'boolean', default: false } as const;

const log = (message: string): void => console.error(`${new Date().toISOString()} ${message}`);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      resource: text('example.com/sample'),
      devices: text('2'),
      numa: text(),
      'device-plugins-dir': text('/var/lib/kubelet/device-plugins'),
      'registry-dir': text(),
      mount: text(),
      cdi: flag,
      'pre-start': flag,
      preferred: flag,
      faults: text(),
      log: text(),
      help: flag,
    },
  });
  if (values.help) return console.log(usage);
  const { resource, cdi, preferred } = values;
  const given = (value: string): string | undefined => (value === '' ? undefined : value);
  const [faults, callLog] = [given(values.faults), given(values.log)];
  const devices = new DeviceList(parseDevices(values.devices, values.numa));
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  const service = new SampleService({
    devices,
    options: { resource, cdi, preferred, preStart: values['pre-start'], mount: given(values.mount) },
    respond:
      faults === undefined && callLog === undefined ? respondAtOnce : respondWithFaults(faults, callLog),
  });
  const registration = { service, resource, signal: stop.signal, log };
  const registryDir = given(values['registry-dir']);
  await Promise.all([
    registryDir === undefined
      ? keepRegistered(values['device-plugins-dir'], registration)
      : keepInRegistry(registryDir, registration),
    faults === undefined ? undefined : steerDevices(faults, devices, stop.signal),
  ]);
}

// On Node.js 20 a server that is shut down by force may leave connections open, which would keep the process alive.
main().then(
  () => process.exit(),
  (err: unknown) => {
    log(String(err));
    process.exit(1);
  },
);
