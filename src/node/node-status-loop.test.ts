import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Node } from '../api/k8s/types.ts';
import type { EventText } from '../api/ports/events.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { FakeNodeApi, facts, settings, unreachable } from './fixtures/node-world.ts';
import type { NodeFacts } from './node-facts.ts';
import { NodeStatusLoop } from './node-status-loop.ts';
import { OwnNode } from './own-node.ts';

async function world(
  options: {
    api?: FakeNodeApi;
    registerNode?: boolean;
    getsOnExistsOnly?: boolean;
    found?: Partial<NodeFacts>;
  } = {},
) {
  const clock = new FakeClock();
  const api = options.api ?? new FakeNodeApi();
  const own = new OwnNode();
  const events: EventText[] = [];
  const state = { found: options.found ?? {}, failures: 0 };
  const runtimeChanged = new Channel<void>();
  const loop = new NodeStatusLoop({
    api,
    own,
    facts: { gather: async () => facts(state.found), changed: runtimeChanged },
    settings: settings({
      registerNode: options.registerNode ?? true,
      getsOnExistsOnly: options.getsOnExistsOnly ?? false,
    }),
    timing: { updateMs: 10_000, reportMs: 300_000, random: () => 0.5 },
    report: {
      events: { node: (event) => void events.push(event) },
      repeatedFailure: () => {
        state.failures++;
      },
    },
    clock,
    log: silentLogger,
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  await startComponent(loop, stop.signal);
  await clock.settle();
  return { api, clock, events, loop, own, state, reasons: () => events.map(({ reason }) => reason) };
}

test('registers a new node at once and emits its events', async () => {
  const { api, reasons } = await world();
  expect(api.calls).toEqual(['create node']);
  expect(reasons()).toEqual(['NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID']);
});

test('writes only every report period while nothing changes', async () => {
  const { api, clock } = await world();
  await clock.advance(299_000);
  expect(api.patches).toHaveLength(0);
  await clock.advance(12_000);
  expect(api.patches).toHaveLength(1);
});

test('reports Ready at once, not at the next period', async () => {
  const { api, clock, loop, reasons, state } = await world({
    found: { problems: ['container runtime is down'] },
  });
  state.found = {};
  loop.poke();
  await clock.settle();
  expect(api.patches).toHaveLength(1);
  expect(reasons()).toContain('NodeReady');
  expect(api.node?.status?.conditions?.at(-1)).toMatchObject({ status: 'True', reason: 'KubeletReady' });
});

const forbidden = new KubeletError('forbidden', 'Forbidden', 'nodes is forbidden', {
  details: { code: 403 },
});

test('adopts a node that exists if creating one is forbidden', async () => {
  const api = new FakeNodeApi();
  await api.create({ metadata: { name: 'node1' } });
  api.calls.length = 0;
  api.createFault = forbidden;
  await world({ api });
  expect(api.calls.slice(0, 2)).toEqual(['create node', 'get node']);
  expect(api.patches.length).toBeGreaterThan(0);
});

test('does not adopt it with KubeletRegistrationGetOnExistsOnly', async () => {
  const api = new FakeNodeApi();
  await api.create({ metadata: { name: 'node1' } });
  api.calls.length = 0;
  api.createFault = forbidden;
  const { clock } = await world({ api, getsOnExistsOnly: true });
  await clock.advance(30_000);
  expect(new Set(api.calls)).toEqual(new Set(['create node']));
});

test('does not write again and again what the API server drops', async () => {
  const api = new FakeNodeApi();
  api.drop = (node) => {
    const { runningInUserNamespace: _unknown, ...nodeInfo } = node.status?.nodeInfo ?? {};
    return { ...node, status: { ...node.status, nodeInfo } } as Node;
  };
  const { clock, loop, own, state } = await world({ api });
  const writes = (): number => api.patches.length;
  await clock.advance(290_000);
  expect(writes()).toBe(0);
  own.replace(api.node === undefined ? [] : [api.node]);
  await clock.advance(290_000);
  const periodic = writes();
  expect(periodic).toBeLessThanOrEqual(2);
  state.found = { problems: ['down'] };
  loop.poke();
  await clock.settle();
  expect(writes()).toBe(periodic + 1);
});

test('retries registration with backoff until the API server is reachable', async () => {
  const api = new FakeNodeApi();
  api.fault = unreachable;
  const { clock } = await world({ api });
  await clock.advance(120_000);
  expect(api.calls.length).toBeGreaterThan(10);
  expect(api.calls.length).toBeLessThan(30);
  api.fault = undefined;
  await clock.advance(7_000);
  expect(api.node).toBeDefined();
});

test('tries five times a period while the API server is unreachable, then reports the current status', async () => {
  const { api, clock, loop, state } = await world();
  api.fault = unreachable;
  state.found = { pressure: { memory: true, disk: false, pid: false } };
  await clock.advance(60_000);
  const tries = api.calls.length - 1;
  expect(tries).toBeGreaterThanOrEqual(25);
  expect(tries).toBeLessThanOrEqual(30);
  expect(state.failures).toBeGreaterThan(0);
  for (let i = 0; i < 100; i++) loop.poke();
  await clock.settle();
  expect(api.calls.length - 1).toBe(tries);
  api.fault = undefined;
  await clock.advance(11_000);
  expect(api.patches).toHaveLength(1);
  expect(api.node?.status?.conditions?.[0]).toMatchObject({ type: 'MemoryPressure', status: 'True' });
});

test('gets the node again after a conflict', async () => {
  const { api, clock, loop, state } = await world();
  api.fault = new KubeletError('conflict', 'Conflict', 'changed meanwhile');
  state.found = { pressure: { memory: false, disk: true, pid: false } };
  loop.poke();
  await clock.settle();
  api.fault = undefined;
  await clock.advance(11_000);
  expect(api.node?.status?.conditions?.[1]).toMatchObject({ type: 'DiskPressure', status: 'True' });
  expect(api.calls).toContain('get node');
});

test('reconciles an existing node, then updates its status', async () => {
  const first = await world();
  const second = await world({ api: first.api, found: { problems: ['container runtime is down'] } });
  expect(second.api.calls).toEqual(['create node', 'create node', 'get node', 'patch node']);
  expect(second.reasons()).toEqual(['NodeNotReady']);
});

test('does not register a deleted node again', async () => {
  const { api, clock, own } = await world();
  own.replace([structuredClone(api.node ?? {})]);
  api.node = undefined;
  own.remove();
  await clock.advance(60_000);
  expect(api.node).toBeUndefined();
  await world({ api });
  expect(api.node).toBeDefined();
});

test('with --register-node=false only updates a node created by others', async () => {
  const api = new FakeNodeApi();
  const { clock } = await world({ api, registerNode: false });
  await clock.advance(30_000);
  expect(api.calls).not.toContain('create node');
  await api.create({ metadata: { name: 'node1' } });
  await clock.advance(11_000);
  expect(api.patches.length).toBeGreaterThan(0);
});

test('emits events when the node is cordoned and uncordoned', async () => {
  const { api, own, reasons } = await world();
  own.upsert({ ...api.node, spec: { unschedulable: true } });
  own.upsert({ ...api.node, spec: {} });
  expect(reasons().slice(-2)).toEqual(['NodeNotSchedulable', 'NodeSchedulable']);
});
