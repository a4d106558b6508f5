import { defineConfig } from 'vitest/config';
import { slowness } from './integration/rig/wait.ts';

// Files run one after the other, each in its own process: they share a kernel and few cores, and the timing of a start that
// competes for them is meaningless.
export default defineConfig({
  test: {
    include: ['integration/**/*.test.ts'],
    globalSetup: ['integration/rig/fetch-runtime.ts', 'integration/rig/clear-dead-rigs.ts'],
    setupFiles: ['integration/rig/use-runtime.ts'],
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 120_000 * slowness,
    hookTimeout: 120_000 * slowness,
    teardownTimeout: 60_000 * slowness,
    passWithNoTests: false,
  },
});
