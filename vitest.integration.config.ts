import { defineConfig } from 'vitest/config';
import { slowness } from './integration/rig/wait.ts';

// One file after the other, each in a process of its own: they share two cores and a kernel, and a start that
// has to compete for both says little when it is slow.
export default defineConfig({
  test: {
    include: ['integration/**/*.test.ts'],
    globalSetup: ['integration/rig/clear-dead-rigs.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 120_000 * slowness,
    hookTimeout: 120_000 * slowness,
    teardownTimeout: 60_000 * slowness,
    passWithNoTests: false,
  },
});
