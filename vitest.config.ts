import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'src/**/*.test.ts',
      'test/**/*.test.ts',
      'tools/**/*.test.ts',
      'examples/**/*.test.ts',
      'dashboard/**/*.test.ts',
    ],
    setupFiles: ['test/setup.ts'],
    // Processes, not threads: tests count file descriptors, and child processes inherit those of other threads.
    pool: 'forks',
    isolate: false,
    // One more than there are processors: a third of the time of these tests is waiting for real timers and sockets.
    maxWorkers: availableParallelism() + 1,
    reporters: ['default'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // The default of one second is too short for real sockets on a loaded machine.
    expect: { poll: { timeout: 10_000 } },
    passWithNoTests: false,
  },
});
