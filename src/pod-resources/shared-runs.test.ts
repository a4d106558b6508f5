import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { SharedRuns } from './shared-runs.ts';

interface Run {
  readonly resolve: (value: string) => void;
  readonly reject: (err: Error) => void;
}

function shared() {
  const begun: Run[] = [];
  const runs = new SharedRuns<string>(
    () => new Promise((resolve, reject) => begun.push({ resolve, reject })),
  );
  return { runs, begun };
}

const settle = () => new FakeClock().advance(0);

test('callers that wait at the same time share a run', async () => {
  const { begun, runs } = shared();
  const answers = Promise.all([runs.run(), runs.run()]);
  await settle();
  expect(begun).toHaveLength(1);
  begun[0]?.resolve('a');
  expect(await answers).toEqual(['a', 'a']);
});

test('a caller never gets a result of a run that began before its call', async () => {
  const { begun, runs } = shared();
  const first = runs.run();
  await settle();
  const later = Promise.all([runs.run(), runs.run()]);
  await settle();
  expect(begun).toHaveLength(1);
  begun[0]?.resolve('old');
  expect(await first).toBe('old');
  await settle();
  expect(begun).toHaveLength(2);
  begun[1]?.resolve('new');
  expect(await later).toEqual(['new', 'new']);
});

test('a failed run fails its own callers only', async () => {
  const { begun, runs } = shared();
  const first = runs.run();
  await settle();
  const second = runs.run();
  begun[0]?.reject(new Error('broken'));
  await expect(first).rejects.toThrow('broken');
  await settle();
  begun[1]?.resolve('ok');
  expect(await second).toBe('ok');
});
