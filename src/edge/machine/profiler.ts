// CPU, allocation and heap profiles of this process by V8's inspector. Upstream: runtime/pprof.
import { Session } from 'node:inspector/promises';
import { getHeapSnapshot } from 'node:v8';
import type { Clock } from '../../base/clock.ts';

/** V8's default interval, and the maximum of samples per profile: more would block the event loop during serialization. */
const sampleMicros = 1000;
const maxSamples = 30_000;

export function processProfiler(clock: Clock) {
  return {
    cpu: (seconds: number, signal: AbortSignal): Promise<string> =>
      withSession(async (session) => {
        await session.post('Profiler.enable');
        const interval = Math.max(sampleMicros, Math.ceil((seconds * 1e6) / maxSamples));
        await session.post('Profiler.setSamplingInterval', { interval });
        await session.post('Profiler.start');
        await clock.sleep(seconds * 1000, signal);
        const { profile } = await session.post('Profiler.stop');
        return JSON.stringify(profile);
      }),
    allocations: (seconds: number, signal: AbortSignal): Promise<string> =>
      withSession(async (session) => {
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

/** Disconnecting the session also stops its profiles. */
async function withSession(work: (session: Session) => Promise<string>): Promise<string> {
  const session = new Session();
  session.connect();
  try {
    return await work(session);
  } finally {
    session.disconnect();
  }
}
