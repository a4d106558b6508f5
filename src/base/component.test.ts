import { expect, test } from 'vitest';
import { Channel, mergeChannels } from './channel.ts';
import { type Component, on, reaction, startComponent } from './component.ts';

function recorder(
  channel: Channel<string>,
  start: Component['start'],
): { seen: string[]; component: Component } {
  const seen: string[] = [];
  return { seen, component: { name: 'recorder', wakes: [on(channel, (key) => seen.push(key))], start } };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

test('wakes a component from before its start until its stop', async () => {
  const channel = new Channel<string>();
  const abort = new AbortController();
  const { component, seen } = recorder(channel, async (signal) => {
    channel.push('while starting');
    return { stopped: untilAborted(signal) };
  });
  channel.push('before');
  const { stopped } = await startComponent(component, abort.signal);
  channel.push('running');
  abort.abort();
  channel.push('stopped');
  await stopped;
  expect(seen).toEqual(['while starting', 'running']);
});

test('does not wake a component whose start failed', async () => {
  const channel = new Channel<string>();
  const { component, seen } = recorder(channel, () => Promise.reject(new Error('no disk')));
  await expect(startComponent(component, new AbortController().signal)).rejects.toThrow('no disk');
  channel.push('later');
  expect(seen).toEqual([]);
});

test('does not wake a component whose signal is aborted already', async () => {
  const channel = new Channel<string>();
  const { component, seen } = recorder(channel, async () => ({ stopped: Promise.resolve() }));
  await startComponent(component, AbortSignal.abort());
  channel.push('late');
  expect(seen).toEqual([]);
});

test('runs a reaction until its stop', async () => {
  const channel = new Channel<string>();
  const seen: string[] = [];
  const abort = new AbortController();
  const { stopped } = await startComponent(
    reaction('log', [on(channel, (key) => seen.push(key))]),
    abort.signal,
  );
  channel.push('a');
  abort.abort();
  await stopped;
  channel.push('b');
  expect(seen).toEqual(['a']);
});

test('merges channels and unsubscribes from all of them', () => {
  const [a, b] = [new Channel<string>(), new Channel<string>()];
  const merged = mergeChannels(a, b);
  const seen: string[] = [];
  const end = merged.subscribe((key) => seen.push(key));
  a.push('a');
  b.push('b');
  end();
  a.push('c');
  expect([seen, merged.sources]).toEqual([
    ['a', 'b'],
    [a, b],
  ]);
});
