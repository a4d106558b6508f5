import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'tools/**/*.test.ts'],
    // Processes, not threads: tests count descriptors, and what one starts inherits what another has open.
    pool: 'forks',
    isolate: false,
    // By default one processor is left idle, which on two means one file at a time.
    maxWorkers: availableParallelism(),
    reporters: ['default'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // The default of one second is too short for real sockets on a loaded machine.
    expect: { poll: { timeout: 10_000 } },
    passWithNoTests: false,
  },
});
