import { expect, test } from 'vitest';
import { KubeletError } from '../base/errors.ts';
import { joinedFailure, pullError } from './pull-error.ts';

const rpcError = (code: string, message: string): KubeletError => new KubeletError('internal', code, message);

test.each([
  [rpcError('UNKNOWN', 'x'), 'ErrImagePull', 'x'],
  [rpcError('NOT_FOUND', 'x: not found'), 'ErrImagePull', 'rpc error: code = NotFound desc = x: not found'],
  [rpcError('UNAUTHENTICATED', 'x'), 'ErrImagePull', 'rpc error: code = Unauthenticated desc = x'],
  [rpcError('DEADLINE_EXCEEDED', 'x'), 'ErrImagePull', 'rpc error: code = DeadlineExceeded desc = x'],
  [rpcError('CANCELLED', 'x'), 'ErrImagePull', 'rpc error: code = Canceled desc = x'],
  [
    rpcError('UNKNOWN', 'RegistryUnavailable'),
    'RegistryUnavailable',
    'image pull failed for app because the registry is unavailable',
  ],
  [
    rpcError('UNKNOWN', 'SignatureValidationFailed: key'),
    'SignatureValidationFailed',
    'image pull failed for app because the signature validation failed: key',
  ],
  [rpcError('ErrImagePull', 'own words'), 'ErrImagePull', 'own words'],
  [new Error('plain'), 'ErrImagePull', 'plain'],
])('%o', (cause, reason, message) => expect(pullError('app', cause)).toMatchObject({ reason, message }));

test.each([
  [['a'], 'a'],
  [['a', 'a'], 'a'],
  [['a', 'b', 'a'], '[a, b]'],
])('%j with several credentials: %s', (texts, message) => {
  const joined = joinedFailure(texts.map((text) => rpcError('UNKNOWN', text)));
  expect(joined).toMatchObject({ message });
});
