import { expect, test } from 'vitest';
import { Signal } from './generated/runtime/v1/api.ts';
import { signalName, toCriSignal } from './stop-signals.ts';

test('maps real-time signals by their offset', () => {
  expect([toCriSignal('SIGTERM'), toCriSignal('SIGRTMIN+3'), toCriSignal('SIGRTMAX-14')]).toEqual([
    Signal.SIGNAL_SIGTERM,
    Signal.SIGNAL_SIGRTMINPLUS3,
    Signal.SIGNAL_SIGRTMAXMINUS14,
  ]);
});

test('reports no name for the runtime default and for numbers of later versions', () => {
  expect(signalName(Signal.SIGNAL_RUNTIME_DEFAULT)).toBeUndefined();
  expect(signalName(Signal.UNRECOGNIZED)).toBeUndefined();
  expect(toCriSignal('SIGNAL_SIGTERM')).toBe(Signal.SIGNAL_RUNTIME_DEFAULT);
});
