import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { KeptCheckpoint } from './kept-checkpoint.ts';

const path = '/r/state';
const previous = '/r/.state.previous';
const damaged = '/r/.state.damaged';

function rig(disk = new Map<string, string>()) {
  const clock = new FakeClock(0);
  const errors: unknown[] = [];
  let state = '';
  const checkpoint = new KeptCheckpoint<string>({
    files: {
      read: async (each) => disk.get(each),
      replace: async (each, text) => void disk.set(each, text),
      flush: async () => undefined,
      keep: async (each, as) => {
        const text = disk.get(each);
        if (text !== undefined) disk.set(as, text);
      },
    },
    path,
    clock,
    decode: (text) => {
      if (!text.startsWith('ok')) throw new Error('not a checkpoint');
      return text;
    },
    encode: () => state,
    onError: (err) => void errors.push(err),
  });
  const write = async (text: string): Promise<void> => {
    state = text;
    checkpoint.save();
    await checkpoint.saved();
  };
  return { checkpoint, disk, errors, write };
}

test('keeps the predecessor of every write', async () => {
  const { disk, write } = rig();
  await write('ok 1');
  expect(disk.has(previous)).toBe(false);
  await write('ok 2');
  expect([...disk]).toEqual([
    [path, 'ok 2'],
    [previous, 'ok 1'],
  ]);
});

test('a missing file is a first start', async () => {
  expect(await rig().checkpoint.load()).toEqual({ state: undefined, fault: undefined });
});

test('sets a damaged file aside and uses its predecessor, which the next write does not replace by the damaged one', async () => {
  const { checkpoint, disk, write } = rig(
    new Map([
      [path, ''],
      [previous, 'ok 1'],
    ]),
  );
  expect(await checkpoint.load()).toEqual({
    state: 'ok 1',
    fault: { path, why: 'not a checkpoint', setAside: damaged, usedPrevious: true },
  });
  expect(disk.get(damaged)).toBe('');
  await write('ok 2');
  expect([disk.get(path), disk.get(previous)]).toEqual(['ok 2', 'ok 1']);
  await write('ok 3');
  expect(disk.get(previous)).toBe('ok 2');
});

test('reports that nothing can be used if both are damaged', async () => {
  const { checkpoint } = rig(
    new Map([
      [path, '{'],
      [previous, 'x'],
    ]),
  );
  expect(await checkpoint.load()).toMatchObject({ state: undefined, fault: { usedPrevious: false } });
});
