import { defineConfig } from 'vitest/config';
import { slowness } from './integration/rig/wait.ts';

/** The tests that change the machine; `make test-vm` runs them in a virtual machine. */
export default defineConfig({
  test: {
    include: ['integration/vm/**/*.test.ts'],
    passWithNoTests: false,
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    // The tests of a file are stages of one machine's life.
    bail: 1,
    testTimeout: 120_000 * slowness,
    hookTimeout: 120_000 * slowness,
  },
});
