import { defineConfig } from 'vitest/config';
import { slowness } from './integration/rig/wait.ts';

/**
 * Files that mostly wait and do not depend on the speed of the machine: two of them run at a time. All others run one after the
 * other, each in its own process: they share a kernel and few cores, and the timing of a start that competes for them is
 * meaningless.
 */
const together = [
  'csi-*',
  'attach-controller',
  'deb',
  'autonomy',
  'device-plugin-faults',
  'graceful-shutdown',
  'doctor',
  'http-api',
  'image-pulls',
  'iptables',
  'live-configuration',
  'manifest-faults',
  'node-commands',
  'probes',
  'resize',
  'secret-leaks',
  'streams',
  'tracing',
  'volume-objects',
].map((name) => `integration/${name}.test.ts`);
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
    projects: [
      {
        test: {
          ...common,
          name: 'together',
          include: together,
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'alone',
          include: [all],
          exclude: [...together, onlyInVm],
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
