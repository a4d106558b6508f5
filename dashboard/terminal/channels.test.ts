import { expect, test } from 'vitest';
import { bearerProtocol, parseMessage, resizeMessage, stdinMessage } from './channels.ts';

const message = (channel: number, text: string): Uint8Array =>
  Uint8Array.from([channel, ...new TextEncoder().encode(text)]);
const failure = (code: string): string =>
  JSON.stringify({
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: exit status ${code}`,
    details: { causes: [{ reason: 'ExitCode', message: code }] },
  });

const cases: readonly (readonly [name: string, bytes: Uint8Array, want: object])[] = [
  ['output', message(1, 'hi'), { is: 'output', data: new TextEncoder().encode('hi') }],
  ['error output', message(2, 'hi'), { is: 'output', data: new TextEncoder().encode('hi') }],
  [
    'the end of a command that succeeded',
    message(3, '{"status":"Success"}'),
    { is: 'ended', exitCode: 0, why: '' },
  ],
  ['the end of a command that failed', message(3, failure('7')), { is: 'ended', exitCode: 7 }],
  [
    'a failure without an exit code',
    message(3, '{"status":"Failure","message":"no"}'),
    { exitCode: undefined, why: 'no' },
  ],
  ['a status that is not JSON', message(3, '<b>no</b>'), { is: 'ended', why: '<b>no</b>' }],
  ['a status that is null', message(3, 'null'), { is: 'ended', why: 'null' }],
  ['another channel', message(9, 'x'), { is: 'ignored' }],
  ['nothing', new Uint8Array(), { is: 'ignored' }],
];
for (const [name, bytes, want] of cases) {
  test(`parseMessage: ${name}`, () => {
    expect(parseMessage(bytes)).toMatchObject(want);
  });
}

test('messages to the container', () => {
  expect([...stdinMessage(new Uint8Array([97]))]).toEqual([0, 97]);
  expect(new TextDecoder().decode(resizeMessage(80, 24))).toBe('\u0004{"Width":80,"Height":24}');
});

test('the token is base64url without padding', () => {
  expect(bearerProtocol('a~b?c')).toBe(
    `base64url.bearer.authorization.k8s.io.${Buffer.from('a~b?c').toString('base64url')}`,
  );
});
