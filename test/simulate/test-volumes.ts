// Assembles the volume manager for tests, with empty or silent defaults for all dependencies.
import { noPodCertificates } from '../../src/api/ports/pod-certificates.ts';
import { assembleVolumes, type Volumes, type VolumesInput } from '../../src/assemble/volumes.ts';
import { Channel } from '../../src/base/channel.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import { Metrics } from '../../src/base/metrics.ts';
import { defaultGates } from '../../src/config/gates/feature-gates.ts';
import { VolumeMetrics } from '../../src/metrics/volume-metrics.ts';
import { standaloneStorage } from '../../src/objects/standalone-storage.ts';
import { FlexDrivers } from '../../src/volumes/flex-volume/drivers.ts';
import { FakeFlexDrivers } from '../fakes/fake-flex-drivers.ts';
import { FakeHostDevices, FakeHostPrograms } from '../fakes/fake-host-programs.ts';

export function testVolumes(
  input: Partial<VolumesInput> & Pick<VolumesInput, 'host' | 'objects' | 'clock'>,
): Volumes {
  const whole: VolumesInput = {
    rootDir: '/root',
    syncFrequencyMs: 60_000,
    statsPeriodMs: 60_000,
    metrics: new VolumeMetrics(new Metrics()),
    lifecycles: { get: () => undefined },
    reject: () => undefined,
    gates: defaultGates,
    random: Math.random,
    events: { pod: () => undefined, node: () => undefined, object: () => undefined },
    storage: standaloneStorage,
    drivers: {
      get: () => undefined,
      names: () => [],
      refreshAllocatable: () => Promise.resolve(),
      changed: new Channel<string>(),
    },
    nodeName: 'node',
    programs: new FakeHostPrograms(),
    devices: new FakeHostDevices(),
    flexDrivers: new FlexDrivers({
      directory: '/exec',
      files: new FakeFlexDrivers(),
      programs: new FakeHostPrograms(),
      clock: input.clock,
      log: silentLogger,
    }),
    cri: { status: () => Promise.reject(new Error('unexpected call')) },
    certificates: noPodCertificates,
    allocatable: () => ({ cpu: '2', memory: '1Gi' }),
    log: silentLogger,
    ...input,
  };
  // A getter stays one.
  return assembleVolumes(Object.defineProperties(whole, Object.getOwnPropertyDescriptors(input)));
}
