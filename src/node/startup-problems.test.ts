import { expect, test } from 'vitest';
import { Channel } from '../base/channel.ts';
import { StartupProblems } from './startup-problems.ts';

function world(names: readonly string[]) {
  const csiNode = { text: ['CSINode is not yet initialized'], changed: new Channel<void>() };
  const registered = new Set<string>();
  const changed = new Channel<string>();
  const startup = new StartupProblems({
    csiNode: { problems: () => csiNode.text, changed: csiNode.changed },
    required: [
      { kind: 'CSI driver', names, isRegistered: (name) => registered.has(name), changed },
      { kind: 'device plugin', names: [], isRegistered: () => false, changed: new Channel<string>() },
    ],
  });
  const seen = { wakes: 0 };
  startup.changed.subscribe(() => {
    seen.wakes += 1;
  });
  return { startup, csiNode, registered, changed, seen };
}

test('names CSINode and each plugin that is missing', () => {
  const { csiNode, registered, startup } = world(['a', 'b']);
  expect(startup.problems()).toEqual([
    'CSINode is not yet initialized',
    'waiting for CSI driver a to register',
    'waiting for CSI driver b to register',
  ]);
  csiNode.text = [];
  registered.add('a');
  expect(startup.problems()).toEqual(['waiting for CSI driver b to register']);
  registered.add('b');
  expect(startup.problems()).toEqual([]);
});

test('the loss of a plugin before the node was Ready counts again', () => {
  const { csiNode, registered, startup } = world(['a']);
  csiNode.text = [];
  registered.add('a');
  expect(startup.problems()).toEqual([]);
  registered.delete('a');
  expect(startup.problems()).toHaveLength(1);
});

test('after the node was Ready nothing counts any more', () => {
  const { registered, startup } = world(['a']);
  registered.add('a');
  startup.passed();
  registered.clear();
  expect(startup.problems()).toEqual([]);
});

test('only CSINode and required plugins wake the node status', () => {
  const { changed, csiNode, seen } = world(['a']);
  changed.push('other');
  expect(seen.wakes).toBe(0);
  changed.push('a');
  csiNode.changed.push();
  expect(seen.wakes).toBe(2);
});
