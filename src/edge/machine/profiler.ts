// Profiles of this process by V8's inspector. Upstream: runtime/pprof.
import { Session } from 'node:inspector/promises';
import { getHeapSnapshot } from 'node:v8';
import type { Clock } from '../../base/clock.ts';

/** V8's default, and the most samples of one profile: more would block the event loop when the profile is serialized. */
const sampleMicros = 1000;
const mostSamples = 30_000;

export function processProfiler(clock: Clock) {
  return {
    cpu: (seconds: number, signal: AbortSignal): Promise<string> =>
      inspected(async (session) => {
        await session.post('Profiler.enable');
        const interval = Math.max(sampleMicros, Math.ceil((seconds * 1e6) / mostSamples));
        await session.post('Profiler.setSamplingInterval', { interval });
        await session.post('Profiler.start');
        await clock.sleep(seconds * 1000, signal);
        const { profile } = await session.post('Profiler.stop');
        return JSON.stringify(profile);
      }),
    allocations: (seconds: number, signal: AbortSignal): Promise<string> =>
      inspected(async (session) => {
        await session.post('HeapProfiler.startSampling');
        await clock.sleep(seconds * 1000, signal);
        const { profile } = await session.post('HeapProfiler.stopSampling');
        return JSON.stringify(profile);
      }),
    heap: (): AsyncIterable<Uint8Array> => getHeapSnapshot(),
    resources: (): readonly string[] => process.getActiveResourcesInfo(),
    commandLine: process.argv,
  };
}

/** Whatever was begun ends with the session. */
async function inspected(work: (session: Session) => Promise<string>): Promise<string> {
  const session = new Session();
  session.connect();
  try {
    return await work(session);
  } finally {
    session.disconnect();
  }
}
