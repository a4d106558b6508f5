import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { slowness } from './integration/rig/wait.ts';

/**
 * Files that mostly wait, assert nothing that depends on the speed of the machine, and use nothing of it that rigs share: one more
 * of them than there are processors run at a time, since they compute for two fifths of their time. All others run one after the
 * other, each in its own process: they share a kernel and few cores, and the timing of a start that competes for them is
 * meaningless. A pod with a CPU request that is always busy belongs there too: when other programs take all cores, it keeps the
 * pods without a request on its node from starting. The files of more than ten seconds come first, the longest at the head, so
 * that no worker is idle at the end; those that compute most are apart from each other.
 */
const together = [
  'runtime-faults',
  'device-plugin-faults',
  'runtime-outage',
  'live-configuration',
  'csi-restart',
  'probes',
  'replay',
  'csi-leftovers',
  'csi-driver-faults',
  'dashboard-browser',
  'csi-attach',
  'csi-faults',
  'pod-stages',
  'mirror-pods',
  'takeover',
  'pod-faults',
  'pod-lifecycle',
  'dashboard-browser-logs',
  'http-api',
  'csi-sanity',
  'manifest-faults',
  'streams',
  'clock-steps',
  'csi-drivers',
  'post-start',
  'graceful-shutdown',
  'pod-termination',
  'doctor',
  'secret-leaks',
  'csi-*',
  'dashboard-ports',
  'deb',
  'autonomy',
  'env-files',
  'history',
  'http-source',
  'image-pulls',
  'iptables',
  'node-commands',
  'pods-api',
  'replay-cluster',
  'resize',
  'runtime-features',
  'static-pod-adoption',
  'tracing',
  'volume-objects',
];
const atATime = Math.min(3, availableParallelism() + 1);
const namesOf = (names: readonly string[]): string[] => names.map((name) => `integration/${name}.test.ts`);

/** Starts the files in the order of `together`. Vitest's own order depends on the durations of earlier runs on this machine. */
class ListedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = together.indexOf(basename(moduleId, '.test.ts'));
      return at < 0 ? together.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

const all = 'integration/**/*.test.ts';
/** Changes the machine: vitest.vm.config.ts. */
const onlyInVm = 'integration/vm/**';

const common = {
  globalSetup: ['integration/rig/fetch-runtime.ts', 'integration/rig/clear-dead-rigs.ts'],
  setupFiles: ['integration/rig/use-runtime.ts'],
  pool: 'forks' as const,
  testTimeout: 120_000 * slowness,
  hookTimeout: 120_000 * slowness,
};

export default defineConfig({
  test: {
    passWithNoTests: false,
    teardownTimeout: 60_000 * slowness,
    sequence: { sequencer: ListedOrder },
    projects: [
      {
        test: {
          ...common,
          name: 'together',
          include: namesOf(together),
          maxWorkers: atATime,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'alone',
          include: [all],
          exclude: [...namesOf(together), onlyInVm],
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
