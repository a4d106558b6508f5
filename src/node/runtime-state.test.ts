import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { StatusResponse } from '../api/cri/generated/runtime/v1/api.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import { RuntimeState } from './runtime-state.ts';

async function world() {
  const clock = new FakeClock();
  const state = { network: true, answers: true, relistAtMs: 0 as number | undefined, calls: 0, turns: 0 };
  const status = async (): Promise<StatusResponse> => {
    state.calls++;
    if (!state.answers) throw new Error('no answer');
    return StatusResponse.fromPartial({
      status: {
        conditions: [
          { type: 'RuntimeReady', status: true, reason: '', message: '' },
          {
            type: 'NetworkReady',
            status: state.network,
            reason: 'NetworkPluginNotReady',
            message: 'cni missing',
          },
        ],
      },
      runtimeHandlers: [
        { name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
        { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
        { name: 'kata', features: undefined },
      ],
      features: { supplementalGroupsPolicy: true },
    });
  };
  const connectionChanged = new Channel<boolean>();
  const runtime = new RuntimeState({
    runtime: { status, connectionChanged },
    pleg: { health: () => ({ lastRelistAtMs: state.relistAtMs }) },
    clock,
    log: silentLogger,
  });
  runtime.changed.subscribe(() => {
    state.turns++;
  });
  return {
    clock,
    connectionChanged,
    runtime,
    state,
    start: async () => {
      const stop = new AbortController();
      onTestFinished(() => stop.abort());
      await startComponent(runtime, stop.signal);
      await clock.settle();
    },
  };
}

test('is not ready before the first response', async () => {
  const { runtime, state } = await world();
  state.relistAtMs = undefined;
  expect(runtime.problems()).toEqual([
    'container runtime status check may not have completed yet',
    'PLEG is not healthy: pleg has yet to be successful',
    'network state unknown',
  ]);
});

test('becomes ready and reports handlers and features on a response', async () => {
  const { runtime, start, state } = await world();
  await start();
  expect(runtime.problems()).toEqual([]);
  expect(state.turns).toBe(1);
  // Sorted by name.
  expect(runtime.handlers).toEqual([
    { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
    { name: 'kata', features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
    { name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
  ]);
  expect(runtime.features).toEqual({ supplementalGroupsPolicy: true });
});

test('reports a missing network with the runtime’s message, and notices it soon when ready', async () => {
  const { clock, runtime, start, state } = await world();
  state.network = false;
  await start();
  expect(runtime.problems()).toEqual([
    'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni missing',
  ]);
  state.network = true;
  await clock.advance(500);
  expect(runtime.problems()).toEqual([]);
  expect(state.turns).toBe(2);
});

test('reports an unresponsive runtime down after 30 s, and backs off', async () => {
  const { clock, runtime, start, state } = await world();
  await start();
  state.answers = false;
  state.relistAtMs = 0;
  const callsBefore = state.calls;
  await clock.advance(29_000);
  expect(runtime.problems()).toEqual([]);
  await clock.advance(6_000);
  expect(runtime.problems()).toEqual(['container runtime is down']);
  expect(state.turns).toBe(2);
  await clock.advance(180_000);
  expect(runtime.problems()).toEqual([
    'container runtime is down',
    'PLEG is not healthy: pleg was last seen active 3m35s ago; threshold is 3m0s',
  ]);
  expect(state.calls - callsBefore).toBeLessThan(50);
});
