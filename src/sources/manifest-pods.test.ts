import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Pod } from '../api/k8s/types.ts';
import { podRef } from '../api/pod/pod-ref.ts';
import { silentLogger } from '../base/log/log.ts';
import { buildManifest, type ManifestPods, mergeManifest, reportNewPods } from './manifest-pods.ts';
import { podFields } from './schema/generated/pod-fields.ts';
import { type FieldType, parseType } from './schema/schema.ts';
import type { StaticPodOptions } from './static-pod.ts';

const options: StaticPodOptions = {
  nodeName: 'n',
  source: 'file',
  origin: '/m/a',
  nowMs: 0,
  computeHash: (pod) => JSON.stringify([pod.metadata, pod.spec]),
};

function read(text: string, previous: readonly Pod[] = [], nowMs = 0): ManifestPods {
  return mergeManifest(buildManifest(Buffer.from(text), { ...options, nowMs }), previous, 'n');
}

function pod(name: string, image = 'i'): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: c, image: ${image}}]}\n---\n`;
}

function names(result: ManifestPods): string[] {
  return result.pods.map((each) => podRef(each).replace('default/', '').replace(/-n$/, ''));
}

test('an odd priority is logged when its pod is new', () => {
  const text = pod('a').replace('spec: {', 'spec: {priority: 5, ');
  const built = buildManifest(Buffer.from(text), options);
  const lines: string[] = [];
  const log = { ...silentLogger, info: (message: string) => void lines.push(message) };
  reportNewPods(log, built, []);
  reportNewPods(log, built, built.pods);
  expect(lines).toEqual([expect.stringContaining('Static pod has priority without priorityClassName')]);
});

describe('a previous pod of a manifest', () => {
  const before = read(pod('a') + pod('b')).pods;
  const cases: readonly (readonly [string, string, readonly string[], readonly string[]])[] = [
    ['is dropped with its document', pod('a'), ['a'], []],
    ['is kept if the text cannot be parsed', '[', ['a', 'b'], ['a', 'b']],
    ['is kept if the file is empty', '', ['a', 'b'], ['a', 'b']],
    ['is kept if its own document is invalid', pod('a', "''") + pod('b'), ['b', 'a'], ['a']],
    ['is dropped if only another document is invalid', pod('a', "''"), ['a'], ['a']],
    ['is kept if an invalid document may be its own', `${pod('a')}kind: Pod\n`, ['a', 'b'], ['b']],
    [
      'is dropped if its document became another kind',
      `${pod('a')}apiVersion: v1\nkind: Secret\n`,
      ['a'],
      [],
    ],
  ];
  for (const [name, text, want, kept] of cases)
    test(name, () => {
      const now = read(text, before);
      expect(names(now)).toEqual(want);
      expect(now.kept).toEqual(kept.map((each) => `default/${each}-n`));
    });

  test('stays the same object if unchanged, and keeps its first-seen time otherwise', () => {
    const [a, b] = read(`# comment\n${pod('a')}${pod('b', 'j')}`, before, 5000).pods;
    expect(a).toBe(before[0]);
    expect(b).not.toBe(before[1]);
    expect(b?.metadata?.annotations?.['kubernetes.io/config.seen']).toBe('1970-01-01T00:00:05.000Z');
  });
});

/** Values of the right type and, sometimes, of a wrong one. */
function valueOf(type: FieldType, depth: number): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 12, arbitrary: typedValue(type, depth) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
  );
}

function typedValue(type: FieldType, depth: number): fc.Arbitrary<unknown> {
  if (type.is === 'list')
    return fc.array(fc.oneof({ depthSize: 'small' }, valueOf(type.of, depth + 1)), { maxLength: 2 });
  if (type.is === 'map')
    return fc.dictionary(
      fc.constantFrom('cpu', 'memory', 'hugepages-2Mi', 'a/b', '__proto__', 'x y'),
      valueOf(type.of, depth + 1),
      { maxKeys: 2 },
    );
  if (type.is === 'struct') {
    const fields = Object.entries(podFields[type.name] ?? {});
    if (depth > 5 || fields.length === 0) return fc.constant({});
    return fc
      .subarray(fields, { maxLength: Math.min(4, fields.length) })
      .chain((some) =>
        fc.record(Object.fromEntries(some.map(([key, text]) => [key, valueOf(parseType(text), depth + 1)]))),
      );
  }
  const words = fc.constantFrom(
    '',
    'a',
    'A b',
    '..',
    '/x',
    '-1',
    '1Gi',
    '0.1',
    '1e9',
    'Always',
    'In',
    'ü',
    "metadata.labels['x']",
    '9'.repeat(40),
  );
  const numbers = fc.constantFrom(0, 1, -1, 80, 1.5, 2 ** 31, 2 ** 53, -(2 ** 40));
  if (type.name === 'quantity') return fc.constantFrom('1', '-1', '0.0001', '1Gi', '1e20', '1u', 'x', 0.5);
  return type.name === 'bool' ? fc.boolean() : fc.oneof(words, numbers);
}

describe('any manifest', () => {
  const check = (text: string): void => {
    const result = read(text);
    expect(result.reasons.every((reason) => reason !== '')).toBe(true);
    if (result.pods.length === 0 && result.reasons.length === 0) expect(text).toMatch(/List/);
  };

  test('yields pods or a reason for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const result = mergeManifest(buildManifest(bytes, options), [], 'n');
        expect(result.pods.length + result.reasons.length).toBeGreaterThan(0);
      }),
      { numRuns: 300 },
    );
  });

  test('yields pods or a reason for any sequence of YAML tokens', () => {
    const piece = fc.constantFrom(
      'a',
      ': ',
      '- ',
      '\n',
      '  ',
      '[',
      ']',
      '{',
      '}',
      ',',
      '&x ',
      '*x',
      '<<: ',
      '!!int ',
      '"',
      "'",
      '|\n',
      '>',
      '#',
      '---\n',
      '? ',
      'apiVersion: v1\n',
      'kind: Pod\n',
      'metadata: {name: a}\n',
      '\t',
      '%',
      '1',
      '~',
      'yes',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => check(pieces.join(''))),
      { numRuns: 1000 },
    );
  });

  test.each(['__proto__', 'constructor', 'toString'])('yields a reason for a resource named %s', (name) => {
    const amounts = Object.fromEntries([[name, '1']]);
    const [requests, limits] = [JSON.stringify({ requests: amounts }), JSON.stringify({ limits: amounts })];
    for (const [own, containers] of [
      [requests, limits],
      [limits, requests],
    ])
      check(
        `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {resources: ${own}, containers: [{name: c, image: i, resources: ${containers}}]}`,
      );
  });

  test('yields the pod or a reason for any pod', () => {
    const arbitrary = valueOf({ is: 'struct', name: 'Pod' }, 0);
    fc.assert(
      fc.property(arbitrary, (value) => {
        const object = typeof value === 'object' && value !== null ? value : {};
        check(JSON.stringify({ metadata: { name: 'a' }, ...object, apiVersion: 'v1', kind: 'Pod' }));
      }),
      { numRuns: 400 },
    );
  });
});

test('bounds the number of reported faults and unknown fields', () => {
  const many = Array.from({ length: 50 }, (_, i) => `x${i}: 1\n`).join('');
  expect(read(`${many}${pod('a')}`).unknownFields).toHaveLength(21);
  const faults = read(`apiVersion: v1\nkind: Secret\n---\n`.repeat(50)).reasons;
  expect(faults).toHaveLength(21);
  expect(faults.at(-1)).toBe('and 30 more');
});
