import { expect, test } from 'vitest';
import { silentLogger } from '../../base/log/log.ts';
import { CheckpointFaults } from './report-faults.ts';

const fault = (path: string, usedPrevious = false) => ({
  path,
  why: 'checkpoint is corrupted',
  setAside: `${path}.damaged`,
  usedPrevious,
});

function scene() {
  const events: string[] = [];
  const faults = new CheckpointFaults();
  const start = () =>
    faults
      .reporter({
        events: { node: ({ message, reason, type }) => events.push(`${type} ${reason} ${message}`) },
        log: silentLogger,
      })
      .start(AbortSignal.abort());
  return { events, faults, start };
}

test('emits one event per file when it starts', async () => {
  const { events, faults, start } = scene();
  for (const each of [fault('/a', true), fault('/b'), fault('/a')]) faults.add(each);
  expect(events).toEqual([]);
  await start();
  expect(events).toEqual([
    'Warning ManagerStateRecovered Could not restore state from /a: checkpoint is corrupted. The file was kept as /a.damaged; its predecessor is used instead.',
    'Warning ManagerStateRecovered Could not restore state from /b: checkpoint is corrupted. The file was kept as /b.damaged; its state is rebuilt.',
  ]);
});

test('reports a later fault at once, and a file only once', async () => {
  const { events, faults, start } = scene();
  await start();
  faults.add(fault('/a'));
  faults.add(fault('/a'));
  expect(events).toHaveLength(1);
});

test('reports nothing without faults', async () => {
  const { events, start } = scene();
  await start();
  expect(events).toEqual([]);
});
