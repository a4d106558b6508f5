import { expect, test } from 'vitest';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import { ForgetKept } from './forget-kept.ts';

async function run(
  autonomy: 'Off' | 'WithSecrets',
  forgetAll: () => Promise<boolean>,
): Promise<readonly string[]> {
  const lines: string[] = [];
  const add = (message: string): void => void lines.push(message);
  const log = { ...silentLogger, info: add, warn: add, error: add };
  const records = { forgetAll: () => (lines.push('removed'), forgetAll()) };
  const stop = new AbortController();
  const { stopped } = await startComponent(new ForgetKept({ autonomy, records, log }), stop.signal);
  stop.abort();
  await stopped;
  return lines;
}

test('removes what was kept while autonomy is off, and logs it once', async () => {
  const removed = 'Removed what was kept for a cut-off, since --autonomy is off';
  expect(await run('Off', async () => true)).toEqual(['removed', removed]);
  expect(await run('Off', async () => false)).toEqual(['removed']);
});

test('without a kubeconfig, what was kept stays while autonomy is on', async () => {
  expect(await run('WithSecrets', async () => true)).toEqual([
    'Keeping nothing for a cut-off, since there is no kubeconfig',
  ]);
});

test('a disk that fails is logged and does not stop the kubelet', async () => {
  const failure = 'Failed to remove what was kept for a cut-off';
  expect(await run('Off', () => Promise.reject(new Error('EIO')))).toEqual(['removed', failure]);
});
