// Every parser of text that a pod, a registry, a runtime or a peer controls, on random and on long repetitive text: it
// returns a value or its own error, in linear time. A parser that takes quadratic time exceeds the test's timeout.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ContainerStatusResponse,
  ListContainersResponse,
  StatusResponse,
} from '../../../src/api/cri/generated/runtime/v1/api.ts';
import { parseDuration } from '../../../src/api/k8s/duration.ts';
import { parseFieldSelector } from '../../../src/api/k8s/field-selector.ts';
import { parseIp } from '../../../src/api/k8s/ip-address.ts';
import { parseLabelSelector } from '../../../src/api/k8s/label-selector-text.ts';
import { strategicDiff } from '../../../src/api/k8s/strategic-diff.ts';
import { Quantity } from '../../../src/api/quantity/quantity.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { readCertificates, readCombined } from '../../../src/edge/certs/read-x509.ts';
import { fromTrailers, GrpcError } from '../../../src/edge/grpc-client/grpc-error.ts';
import { fromGrpcError } from '../../../src/edge/grpc-client/status-map.ts';
import { WireReader } from '../../../src/edge/grpc-client/wire-reader.ts';
import { parseMountTable } from '../../../src/edge/mount/mount-table.ts';
import { parseDockerConfig } from '../../../src/images/credentials/docker-config.ts';
import { parseAddress } from '../../../src/images/credentials/url-match.ts';
import { normalizeImageName } from '../../../src/images/image-name.ts';
import { runtimeVersion } from '../../../src/node/runtime-version.ts';
import { logTail } from '../../../src/pleg/termination-message.ts';
import { messageOfRecord, OomReader, podUidOfCgroup } from '../../../src/resources/oom/oom-records.ts';
import { LogFilter } from '../../../src/server/logs/log-filter.ts';
import { parseInstant } from '../../../src/server/logs/timestamp.ts';
import { decodeManifest } from '../../../src/sources/decode/decode-manifest.ts';

const seed = 18;
/** With quadratic time this exceeds the timeout of a test. */
const longLength = 100_000;

interface Parser {
  readonly parse: (text: string) => unknown;
  /** Fragments of valid input, so that random text gets beyond the first character. */
  readonly words: readonly string[];
  /** Allowed errors besides KubeletError. */
  readonly throws?: new (
    ...args: never[]
  ) => Error;
}

function oomKill(text: string): unknown {
  const reader = new OomReader();
  reader.read('x invoked oom-killer:');
  return [reader.read(messageOfRecord(text)), podUidOfCgroup(text)];
}

function filtered(text: string): Buffer {
  const filter = new LogFilter({
    timestamps: true,
    since: { seconds: 0, nanos: 0 },
    limitBytes: undefined,
    stdout: true,
    stderr: true,
  });
  const bytes = Buffer.from(text);
  const out: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += 65_536)
    out.push(filter.push(Buffer.from(bytes.subarray(at, at + 65_536))));
  return Buffer.concat([...out, filter.finish()]);
}

const time = '2024-01-01T00:00:01.000000001Z';
const parsers: Readonly<Record<string, Parser>> = {
  duration: { parse: parseDuration, words: ['1', '.5', 'h', 'ms', '-', '+', 'µs', '9999999999'] },
  quantity: {
    parse: (text) => Quantity.parse(text).toString(),
    words: ['1', '.', 'e', 'E', '999', '-', 'Ki', 'm', '0'],
  },
  'label selector': {
    parse: parseLabelSelector,
    words: ['a', ' in ', '(', ')', ',', '!', '==', '!=', 'notin', '\t'],
  },
  'field selector': { parse: parseFieldSelector, words: ['a', '=', '!=', ',', '\\', '=='] },
  'IP address': { parse: parseIp, words: ['1', '.', ':', '::', 'ff', '255', '%', '/'] },
  'image name': { parse: normalizeImageName, words: ['a', '.', '/', ':', '@', '-', '_', 'sha256:', 'A'] },
  'registry address': { parse: parseAddress, words: ['a', '.', '/', ':', '@', '[', ']', '%', '%41'] },
  'docker config': {
    parse: (text) => parseDockerConfig(text, 'config.json', 1_000),
    words: ['{', '}', '"auths"', ':', '"a"', ',', '"auth"', '[', ']', '{"auths":{"a":{"auth":"YTpi"}}}'],
  },
  'runtime version': { parse: runtimeVersion, words: ['1', '.', '-', '+', 'v', ' ', 'rc', '0'] },
  'kernel log': {
    parse: oomKill,
    words: ['6,1;', 'oom-kill:constraint=', ',task=', ',pid=1', '/kubepods', '/pod', '\n'],
  },
  'container log': {
    parse: filtered,
    words: [
      `${time} stdout F a\n`,
      `${time} stderr P `,
      `{"log":"a","stream":"stdout","time":"${time}"}\n`,
      '\n',
      ' ',
      '{',
      time,
    ],
  },
  'time of a log line': {
    parse: parseInstant,
    words: ['2024-01-01T00:00:01', '.', '0', 'Z', '+', '01:00', '9'],
  },
  'termination message': {
    parse: (text) => logTail(text, false),
    words: [`${time} stdout F `, '\n', ' ', 'P '],
  },
  'certificates in PEM': {
    parse: readCertificates,
    words: ['-----BEGIN CERTIFICATE-----\n', '-----END CERTIFICATE-----\n', 'MIIB', '=', '-', '\n'],
  },
  'a pair in PEM': {
    parse: readCombined,
    words: [
      '-----BEGIN CERTIFICATE-----\n',
      '-----END CERTIFICATE-----\n',
      '-----BEGIN PRIVATE KEY-----\n',
      '-----END PRIVATE KEY-----\n',
      'MIIB',
      '-',
    ],
  },
  'mount table': {
    parse: parseMountTable,
    words: ['1 2 0:1 / /a rw - ext4 x rw\n', ' ', '\\040', '\\', '-', '\n'],
  },
  "a runtime's failure": {
    parse: (text) => {
      const err = fromTrailers('5', text);
      return err instanceof GrpcError ? fromGrpcError(err, 'runtime', 'Version').message : err;
    },
    words: ['%', '%41', '%E4', 'a', ' '],
  },
};

const anyWhere = [
  ' ',
  '\t',
  '\n',
  '\0',
  '*',
  '$(',
  '\\',
  '"',
  "'",
  '[',
  '{',
  '(',
  'é',
  '\ud800',
  '-',
  '0',
  'a',
];

function parseSafely({ parse, throws }: Parser, text: string): void {
  try {
    parse(text);
  } catch (err) {
    if (err instanceof KubeletError) expect(err.message.length).toBeLessThan(1_000);
    else if (throws === undefined || !(err instanceof throws)) throw err;
  }
}

describe.each(Object.entries(parsers))('%s', (_name, parser) => {
  test('returns a value or its own error for random text', () => {
    const text = fc.string({ unit: fc.constantFrom(...parser.words, ...anyWhere), maxLength: 12 });
    fc.assert(
      fc.property(text, (given) => parseSafely(parser, given)),
      { seed, numRuns: 1_000 },
    );
  });
  test('takes linear time for a long repetitive text', () => {
    for (const word of new Set([...parser.words, ...anyWhere, parser.words.join('')])) {
      const long = word.repeat(longLength / word.length);
      for (const text of [`${long}!`, `${parser.words[0]}${long}`]) parseSafely(parser, text);
    }
  });
});

describe('manifests', () => {
  const bomb = (levels: number): string => {
    const lines = ['a0: &a0 [x,x,x,x,x,x,x,x,x,x]'];
    for (let at = 1; at <= levels; at += 1)
      lines.push(
        `a${at}: &a${at} [${Array(10)
          .fill(`*a${at - 1}`)
          .join(',')}]`,
      );
    return lines.join('\n');
  };
  const hostile: readonly (readonly [string, string])[] = [
    ['exponentially expanding aliases', bomb(9)],
    ['an alias of itself', 'a: &a [*a]'],
    ['brackets', '['.repeat(20_000)],
    ['braces', '{a: '.repeat(50_000)],
    ['deeply nested JSON lists', `{"a":${'['.repeat(100_000)}`],
    ['deeply nested JSON objects', '{"a":'.repeat(100_000)],
    ['indentation', Array.from({ length: 1_000 }, (_, at) => `${' '.repeat(at)}a:`).join('\n')],
    ['dashes', '- '.repeat(20_000)],
    ['digits', `a: ${'9'.repeat(200_000)}`],
    ['digits in JSON', `{"a":${'9'.repeat(200_000)}}`],
    ['an exponent', '{"a":1e999999999}'],
    ['blanks', `${' '.repeat(200_000)}x`],
    ['quotes', '"'.repeat(20_001)],
    ['documents', '---\n'.repeat(5_000)],
    ['anchors', Array.from({ length: 5_000 }, (_, at) => `k${at}: &a${at} *a${at - 1}`).join('\n')],
    ['tags', '!'.repeat(50_000)],
    [
      'many merge keys',
      `a: &a {k: v}\n${Array.from({ length: 2_000 }, (_, at) => `k${at}: {<<: *a}`).join('\n')}`,
    ],
    ['comments', '#'.repeat(200_000)],
    ['a block scalar', `a: |\n${' x\n'.repeat(50_000)}`],
  ];
  test.each(hostile)('of %s are rejected or decoded', (_name, text) => {
    const { faults } = decodeManifest(Buffer.from(text));
    for (const { reason } of faults) expect(reason.length).toBeLessThan(10_000);
  });
  test('of random text are rejected or decoded', () => {
    const unit = fc.constantFrom(
      'a',
      ': ',
      '\n',
      '- ',
      ' ',
      '&a ',
      '*a',
      '{',
      '}',
      '[',
      ']',
      '"',
      ',',
      '<<: ',
      '|',
      '!!int ',
      '#',
      '---\n',
      '0x1',
      'kind: Pod',
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 20 }), (text) => void decodeManifest(Buffer.from(text))),
      { seed, numRuns: 1_000 },
    );
  });
});

describe('messages of the runtime', () => {
  const types = [ContainerStatusResponse, ListContainersResponse, StatusResponse];
  test('with random bytes decode to a message or an error', () => {
    const part = fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      // A field with a length beyond all memory, and an empty one.
      fc.constantFrom(Uint8Array.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f), Uint8Array.of(0x0a, 0x00)),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 10 }), (parts) => {
        const bytes = Buffer.concat(parts);
        for (const type of types) {
          try {
            type.decode(new WireReader(bytes));
          } catch (err) {
            expect(err).toBeInstanceOf(Error);
          }
        }
      }),
      { seed, numRuns: 2_000 },
    );
  });
  test('with endless nesting are rejected', () => {
    // Field 1 of ContainerStatusResponse, nested.
    for (const tag of [0x0a, 0x12, 0x0b]) {
      const bytes = Buffer.alloc(100_000, Buffer.from([tag, 0x7f]));
      for (const type of types) expect(() => type.decode(new WireReader(bytes))).toThrow();
    }
  });
});

describe('strategic diff', () => {
  const key = fc.constantFrom('a', 'b', 'name', '__proto__', 'constructor', '$patch');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(0, 1, '', 'x', true, null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 3 }),
    ),
  }));
  const object = fc.dictionary(key, value, { maxKeys: 4 });
  test('of random objects is undefined for equal ones, and never fails', () => {
    fc.assert(
      fc.property(object, object, (before, after) => {
        strategicDiff(before, after, { a: 'name' });
        expect(strategicDiff(before, structuredClone(before), { a: 'name' })).toBeUndefined();
      }),
      { seed, numRuns: 2_000 },
    );
  });
  test('of keyed lists takes linear time', () => {
    const list = (from: number): object => ({
      a: Array.from({ length: 20_000 }, (_, at) => ({ name: `n${from + at}`, at })),
    });
    expect(strategicDiff(list(0), list(10_000), { a: 'name' })).toBeDefined();
  });
});
