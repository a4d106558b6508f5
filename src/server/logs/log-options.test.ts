import { expect, test } from 'vitest';
import { parseLogOptions } from './log-options.ts';

const nowMs = 1_700_000_000_000;
const plain = {
  follow: false,
  previous: false,
  timestamps: false,
  since: undefined,
  tailLines: undefined,
  limitBytes: undefined,
  stdout: true,
  stderr: true,
};
const parse = (query: string, splitStreams = false) =>
  parseLogOptions(new URLSearchParams(query), { nowMs, splitStreams });

const taken: readonly (readonly [query: string, options: Partial<typeof plain> | object])[] = [
  ['', {}],
  ['follow=true&previous=1&timestamps=', { follow: true, previous: true, timestamps: true }],
  ['follow=false&previous=0&timestamps=FALSE', {}],
  ['follow=no', { follow: true }],
  ['tailLines=0', { tailLines: 0 }],
  ['tailLines=%2B5&limitBytes=1', { tailLines: 5, limitBytes: 1 }],
  ['tail=7', { tailLines: 7 }],
  ['tail=7&tailLines=9', { tailLines: 7 }],
  ['tail=all&tailLines=9', {}],
  ['tail=&tailLines=9', { tailLines: 9 }],
  ['tailLines=9223372036854775807', { tailLines: 2 ** 63 }],
  ['sinceSeconds=10', { since: { seconds: 1_699_999_990, nanos: 0 } }],
  ['sinceTime=2023-11-14T22:13:20.000000005Z', { since: { seconds: 1_700_000_000, nanos: 5 } }],
  ['sinceTime=', {}],
  ['sinceTime=null', {}],
  ['stream=All&tailLines=1', { tailLines: 1 }],
  ['container=x&pretty=1&insecureSkipTLSVerifyBackend=true', {}],
];

for (const [query, options] of taken) {
  test(`?${query} is accepted`, () => expect(parse(query)).toEqual({ options: { ...plain, ...options } }));
}

const undecodable = [
  'tailLines=x',
  'tailLines=',
  'tail=ALL',
  'tailLines=1.5',
  'tailLines=9223372036854775808',
  'limitBytes=1_0',
  'sinceSeconds=1s',
  'sinceTime=yesterday',
  'sinceTime=2023-11-14',
];

for (const query of undecodable) {
  test(`?${query} cannot be decoded`, () =>
    expect(parse(query)).toEqual({
      rejection: { status: 400, message: '{"message": "Unable to decode query."}' },
    }));
}

const invalid = [
  'tailLines=-1',
  'limitBytes=0',
  'sinceSeconds=0',
  'sinceSeconds=-5',
  'sinceSeconds=5&sinceTime=2023-11-14T22:13:20Z',
  'sinceSeconds=5&sinceTime=',
  'stream=stdout',
  'stream=',
  'stream=Stdout&tailLines=1',
];

for (const query of invalid) {
  test(`?${query} is invalid`, () =>
    expect(parse(query, true)).toEqual({
      rejection: { status: 422, message: '{"message": "Invalid request."}' },
    }));
}

test('rejects a single stream without the gate', () => {
  expect(parse('stream=Stdout', true)).toEqual({ options: { ...plain, stderr: false } });
  expect(parse('stream=Stderr', true)).toEqual({ options: { ...plain, stdout: false } });
  expect(parse('stream=Stderr')).toMatchObject({
    rejectedStream: {
      status: 400,
      message:
        'unable to return the given log stream: "Stderr". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
    },
  });
});
