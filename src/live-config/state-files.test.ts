import { expect, test } from 'vitest';
import { memoryRecords } from '../../test/fakes/memory-records.ts';
import { type Logger, silentLogger } from '../base/log/log.ts';
import type { ConfigContent } from './content.ts';
import { StateFiles } from './state-files.ts';

const content: ConfigContent = { files: { '/c.yaml': 'maxPods: 1' }, directories: {}, failures: {} };
const directory = '/root/live-config';

function rig(disk = new Map<string, string>()) {
  const errors: string[] = [];
  const log: Logger = { ...silentLogger, error: (message) => void errors.push(message) };
  return { disk, errors, state: new StateFiles({ directory, files: memoryRecords(disk), log }) };
}

async function saved(): Promise<Map<string, string>> {
  const { disk, state } = rig();
  state.allowWrites();
  await state.saveLastKnownGood(content);
  await state.saveMarker({ checksum: 'abc', state: 'failed', reason: 'sick' });
  await state.saveHistory([]);
  return disk;
}

test('returns what was saved', async () => {
  const { errors, state } = rig(await saved());
  expect(await state.load()).toEqual({
    lastKnownGood: content,
    marker: { checksum: 'abc', state: 'failed', reason: 'sick' },
    history: [],
  });
  await state.removeMarker();
  expect((await state.load()).marker).toBeUndefined();
  expect(errors).toEqual([]);
});

test('an empty directory holds nothing, and is not written unasked', async () => {
  const { disk, state } = rig();
  expect(await state.load()).toEqual({ lastKnownGood: undefined, marker: undefined, history: [] });
  await state.saveMarker({ checksum: 'abc', state: 'trying', reason: '' });
  expect(disk.size).toBe(0);
});

test.each([
  ['last-known-good.json', 'lastKnownGood', (text: string) => text.replace('maxPods: 1', 'maxPods: 2')],
  ['last-known-good.json', 'lastKnownGood', (text: string) => text.slice(0, 40)],
  ['last-known-good.json', 'lastKnownGood', () => ''],
  ['trial.json', 'marker', (text: string) => text.replace('failed', 'other')],
  ['trial.json', 'marker', () => 'null'],
  ['history.json', 'history', () => '{"version":"v1","entries":[{}]}'],
  ['history.json', 'history', () => '[]'],
] as const)('a damaged %s is ignored with an error, and the others are not', async (name, part, damage) => {
  const disk = await saved();
  const path = `${directory}/${name}`;
  disk.set(path, damage(disk.get(path) ?? ''));
  const { errors, state } = rig(disk);
  const loaded = await state.load();
  expect(loaded[part] ?? []).toEqual([]);
  expect(errors).toHaveLength(1);
  expect(Object.values(loaded).filter((value) => value !== undefined).length).toBeGreaterThan(1);
});

test('a disk that cannot be written is reported and does not stop the caller', async () => {
  const { errors, state } = rig();
  const failing = new StateFiles({
    directory,
    files: {
      ...memoryRecords(new Map()),
      write: async () => {
        throw new Error('ENOSPC');
      },
    },
    log: { ...silentLogger, error: (message) => void errors.push(message) },
  });
  failing.allowWrites();
  await failing.saveLastKnownGood(content);
  expect(errors).toEqual(['Failed to write a file of the live configuration']);
  expect((await state.load()).lastKnownGood).toBeUndefined();
});
