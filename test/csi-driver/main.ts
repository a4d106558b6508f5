// A CSI driver as a process of its own, for tests of the kubelet on real mounts. It serves until SIGTERM or SIGINT, and leaves
// the mounts as they are: another process of it continues with them.
// Usage: node tools/run-ts.mjs test/csi-driver/main.ts --data-dir=/tmp/csi
import { mkdirSync } from 'node:fs';
import { CallLog } from './call-log.ts';
import { Faults } from './faults.ts';
import { NodeVolumes } from './node-volumes.ts';
import { parseOptions, usage } from './options.ts';
import { keepRegistered } from './registration.ts';
import { Services } from './services.ts';
import { VolumeStore } from './volume-store.ts';

async function main(): Promise<void> {
  const options = parseOptions(process.argv.slice(2));
  if (options === 'help') return console.log(usage);
  mkdirSync(options.dataDir, { recursive: true });
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  const services = new Services({
    options,
    volumes: new NodeVolumes(options, new VolumeStore(options.dataDir)),
    faults: new Faults(options.faults),
    log: new CallLog(options.log),
  });
  await keepRegistered(options, services, stop.signal);
}

// On Node.js 20 a server that is shut down by force may leave connections open, which would keep the process alive.
main().then(
  () => process.exit(),
  (err: unknown) => {
    console.error(err);
    process.exit(1);
  },
);
