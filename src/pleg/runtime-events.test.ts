import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import {
  type ContainerEventResponse,
  ContainerEventResponse as Message,
} from '../api/cri/generated/runtime/v1/api.ts';
import { Aborted, KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { RuntimeEvents } from './runtime-events.ts';

type Stream = (signal: AbortSignal | undefined) => AsyncIterable<ContainerEventResponse>;

const event = (uid: string): ContainerEventResponse =>
  Message.fromPartial({ podSandboxStatus: { metadata: { uid } } });

function scene(...streams: Stream[]): {
  clock: FakeClock;
  poked: string[];
  warned: string[];
  opened: () => number;
  stop: () => Promise<void>;
} {
  const clock = new FakeClock();
  const poked: string[] = [];
  const warned: string[] = [];
  let opened = 0;
  const abort = new AbortController();
  const events = new RuntimeEvents({
    runtime: {
      getContainerEvents: (_request, options) => {
        const stream = streams[opened] ?? streams.at(-1);
        opened += 1;
        if (stream === undefined) throw new Error('no stream');
        return stream(options.signal);
      },
    },
    pleg: { poke: (uid) => void poked.push(uid) },
    clock,
    log: { ...silentLogger, warn: (message) => void warned.push(message) },
  });
  const started = events.start(abort.signal);
  return {
    clock,
    poked,
    warned,
    opened: () => opened,
    stop: async () => {
      abort.abort(new Aborted('over'));
      await (await started).stopped;
      expect(clock.pendingTimers()).toBe(0);
    },
  };
}

async function* open(
  signal: AbortSignal | undefined,
  uids: readonly string[] = [],
): AsyncGenerator<ContainerEventResponse> {
  for (const uid of uids) yield event(uid);
  await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
}
function broken(error: Error): AsyncIterable<ContainerEventResponse> {
  const fail = async (): Promise<never> => {
    throw error;
  };
  return { [Symbol.asyncIterator]: () => ({ next: fail }) };
}

test('an event triggers an inspection of its pod, found by its sandbox or by a container label', async () => {
  const it = scene(async function* (signal) {
    yield event('a');
    yield Message.fromPartial({
      containersStatuses: [{ labels: { 'io.kubernetes.pod.uid': 'b' } }],
    });
    yield Message.fromPartial({ containerId: 'without a pod' });
    yield* open(signal);
  });
  await it.clock.advance(0);
  expect(it.poked).toEqual(['a', 'b']);
  await it.stop();
});

test('does not retry on a runtime without events', async () => {
  const it = scene(() => broken(new KubeletError('internal', 'UNIMPLEMENTED', 'no such method')));
  await it.clock.advance(3_600_000);
  expect([it.opened(), it.warned]).toEqual([1, []]);
  await it.stop();
});

test('reconnects a broken stream with a back-off that an event resets', async () => {
  const no = new KubeletError('internal', 'UNKNOWN', 'broke');
  const it = scene(
    () => broken(no),
    () => broken(no),
    async function* () {
      yield event('a');
      throw no;
    },
    (signal) => open(signal),
  );
  await it.clock.advance(999);
  expect(it.opened()).toBe(1);
  await it.clock.advance(1);
  expect(it.opened()).toBe(2);
  await it.clock.advance(2_000);
  expect([it.opened(), it.poked]).toEqual([3, ['a']]);
  await it.clock.advance(1_000);
  expect(it.opened()).toBe(4);
  expect(it.warned).toHaveLength(3);
  await it.stop();
});

test('does not log an unavailable runtime', async () => {
  const it = scene(() => broken(new KubeletError('unavailable', 'UNAVAILABLE', 'refused')));
  await it.clock.advance(120_000);
  expect([it.opened(), it.warned]).toEqual([8, []]);
  await it.stop();
});

test('survives an AbortError that it did not cause', async () => {
  const foreign = Object.assign(new Error('cut'), { name: 'AbortError' });
  const it = scene(
    () => broken(foreign),
    (signal) => open(signal, ['a']),
  );
  await it.clock.advance(1_000);
  expect(it.poked).toEqual(['a']);
  await it.stop();
});
