import { expect, test } from 'vitest';
import { computePluginActions, type RegisteredPlugin } from './compute-plugin-actions.ts';

const plugin = (changes: Partial<RegisteredPlugin> = {}): RegisteredPlugin => ({
  socket: '/r/a.sock',
  incarnation: '1',
  type: 'DevicePlugin',
  name: 'example.com/gpu',
  endpoint: '/p/gpu.sock',
  ...changes,
});

const a = plugin();
const other = plugin({ socket: '/r/b.sock' });
const register = { do: 'register', incarnation: '1' };

const cases: readonly (readonly [string, Record<string, string>, readonly RegisteredPlugin[], unknown])[] = [
  ['no socket, nothing registered → nothing', {}, [], []],
  ['new socket → register', { '/r/a.sock': '1' }, [], [register]],
  ['registered → nothing', { '/r/a.sock': '1' }, [a], []],
  ['socket gone → deregister', {}, [a], [{ do: 'deregister', plugin: a, isShared: false }]],
  [
    'socket recreated → deregister, then register',
    { '/r/a.sock': '2' },
    [a],
    [
      { do: 'deregister', plugin: a, isShared: false },
      { do: 'register', incarnation: '2' },
    ],
  ],
  [
    'socket gone, plugin also registered through another one → the handler keeps it',
    { '/r/b.sock': '1' },
    [a, other],
    [{ do: 'deregister', plugin: a, isShared: true }],
  ],
  [
    'same name with another endpoint is another plugin',
    {},
    [a, plugin({ socket: '/r/b.sock', endpoint: '/p/new.sock' })],
    [{ do: 'deregister', plugin: a, isShared: false }],
  ],
  [
    'same name of another type is another plugin',
    {},
    [a, plugin({ socket: '/r/b.sock', type: 'CSIPlugin' })],
    [{ do: 'deregister', plugin: a, isShared: false }],
  ],
  ['other sockets do not matter', { '/r/b.sock': '1' }, [], []],
];

for (const [name, desired, actual, want] of cases)
  test(`computePluginActions: ${name}`, () => {
    const registered = new Map(actual.map((each) => [each.socket, each]));
    expect(computePluginActions('/r/a.sock', new Map(Object.entries(desired)), registered)).toEqual(want);
  });
