import { expect, test } from 'vitest';
import { KubeletError } from '../base/errors.ts';
import { joinedFailure, pullError } from './pull-error.ts';

const said = (code: string, message: string): KubeletError => new KubeletError('internal', code, message);

test.each([
  [said('UNKNOWN', 'x'), 'ErrImagePull', 'x'],
  [said('NOT_FOUND', 'x: not found'), 'ErrImagePull', 'rpc error: code = NotFound desc = x: not found'],
  [said('UNAUTHENTICATED', 'x'), 'ErrImagePull', 'rpc error: code = Unauthenticated desc = x'],
  [said('DEADLINE_EXCEEDED', 'x'), 'ErrImagePull', 'rpc error: code = DeadlineExceeded desc = x'],
  [said('CANCELLED', 'x'), 'ErrImagePull', 'rpc error: code = Canceled desc = x'],
  [
    said('UNKNOWN', 'RegistryUnavailable'),
    'RegistryUnavailable',
    'image pull failed for app because the registry is unavailable',
  ],
  [
    said('UNKNOWN', 'SignatureValidationFailed: key'),
    'SignatureValidationFailed',
    'image pull failed for app because the signature validation failed: key',
  ],
  [said('ErrImagePull', 'own words'), 'ErrImagePull', 'own words'],
  [new Error('plain'), 'ErrImagePull', 'plain'],
])('%o', (cause, reason, message) => expect(pullError('app', cause)).toMatchObject({ reason, message }));

test.each([
  [['a'], 'a'],
  [['a', 'a'], 'a'],
  [['a', 'b', 'a'], '[a, b]'],
])('%j with several credentials: %s', (texts, message) => {
  const joined = joinedFailure(texts.map((text) => said('UNKNOWN', text)));
  expect(joined).toMatchObject({ message });
});
