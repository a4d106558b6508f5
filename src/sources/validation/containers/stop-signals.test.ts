import { expect, test } from 'vitest';
import { signalName, toCriSignal } from '../../../api/cri/stop-signals.ts';
import { stopSignals } from './stop-signals.ts';

test('the CRI has every stop signal that is accepted on Linux', () => {
  const names = stopSignals('linux') ?? [];
  expect(names).toHaveLength(65);
  expect(names.map((name) => signalName(toCriSignal(name)))).toEqual(names);
});
