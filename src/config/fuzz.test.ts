// Random command lines and files: the outcome is always a valid configuration or a list of problems.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { allFlags } from './command-line/flag-index.ts';
import { loadCommandLine, type Outcome } from './command-line/load-command-line.ts';
import { removedFlags } from './command-line/removed-flags.ts';
import { renderConfigz } from './configz.ts';
import { header, memoryFiles } from './fixtures/memory-files.ts';
import { gateTable } from './gates/table.ts';
import type { Field, Schema } from './schema.ts';
import { kubeletConfiguration } from './table/kubelet-configuration.ts';

const runs = 150;

function isClear(outcome: Outcome): boolean {
  if (outcome.kind === 'error')
    return outcome.exitCode === 1 && /^The kubelet cannot start[^]*\n {2}\S/.test(outcome.text);
  if (outcome.kind === 'print') return outcome.text !== '';
  // A valid configuration can be rendered and has every field of the table.
  const rendered = JSON.stringify(renderConfigz(outcome.config));
  return rendered.startsWith('{"kubeletconfig":{') && Object.keys(outcome.config).length === 126;
}

const hostile = [
  '__proto__',
  'constructor',
  'toString',
  '',
  ' ',
  '\u0000',
  '🧪',
  '../..',
  '1e999',
  '-0',
  '0x',
  '%',
  '<<',
];
const words = fc.oneof(
  fc.constantFrom(...hostile),
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    'true',
    '1',
    '-1',
    '10s',
    '5%',
    '1Gi',
    'a=b',
    'a<b',
    'a:b',
    '0:memory=1Gi',
    'a=b:NoSchedule',
    '::1',
    'raw',
  ),
  fc.constantFrom(...Object.keys(gateTable)).map((name) => `${name}=true`),
);
const names = fc.constantFrom(...allFlags.map(({ name }) => name), ...removedFlags.keys());
const argument = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(names, words).map(([name, word]) => `--${name}=${word}`) },
  { weight: 2, arbitrary: names.map((name) => `--${name.replaceAll('-', '_')}`) },
  { weight: 1, arbitrary: words },
  { weight: 1, arbitrary: fc.string({ maxLength: 8 }).map((text) => `-${text}`) },
);

test('handles random flags', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(argument, { maxLength: 8 }), async (argv) => {
      expect(isClear(await loadCommandLine({ argv, files: memoryFiles({}) }))).toBe(true);
    }),
    { numRuns: runs },
  );
});

const anything = fc.oneof(
  words,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.array(words, { maxLength: 2 }),
  fc.dictionary(words, words, { maxKeys: 2 }),
);

/** Mostly of the right type, sometimes of any type. */
function valueOf(field: Field<unknown>): fc.Arbitrary<unknown> {
  const fitting: Partial<Record<Field<unknown>['kind'], fc.Arbitrary<unknown>>> = {
    boolean: fc.boolean(),
    int32: fc.integer({ min: -3, max: 70000 }),
    int64: fc.maxSafeInteger(),
    uint32: fc.nat(),
    float: fc.double({ noNaN: true }),
    string: fc.oneof(words, fc.constantFrom('', ...(field.oneOf ?? []))),
    duration: fc.constantFrom('0s', '1s', '-1s', '1h2m3.4s', '10m', '1ns'),
    time: fc.constantFrom('5s', 5),
    quantity: fc.constantFrom('0', '1Ki', 3, '-1'),
    strings: fc.array(words, { maxLength: 3 }),
    stringMap: fc.dictionary(words, words, { maxKeys: 3 }),
    booleanMap: fc.dictionary(fc.oneof(words, fc.constantFrom(...Object.keys(gateTable))), fc.boolean(), {
      maxKeys: 3,
    }),
    stringListMap: fc.dictionary(words, fc.array(words, { maxLength: 2 }), { maxKeys: 2 }),
    quantityMap: fc.dictionary(words, fc.constantFrom('1', 'x', 0), { maxKeys: 2 }),
    object: objectOf(field.fields ?? {}),
    objects: fc.array(objectOf(field.fields ?? {}), { maxLength: 2 }),
  };
  return fc.oneof({ weight: 9, arbitrary: fitting[field.kind] ?? words }, { weight: 1, arbitrary: anything });
}

function objectOf(schema: Schema): fc.Arbitrary<unknown> {
  const entries = Object.entries(schema).map(([name, field]) =>
    fc.tuple(fc.constant(name), fc.option(valueOf(field), { freq: 2, nil: undefined })),
  );
  return fc
    .tuple(...entries)
    .map((generated) => Object.fromEntries(generated.filter(([, value]) => value !== undefined)));
}

const someFields = fc
  .uniqueArray(fc.constantFrom(...Object.keys(kubeletConfiguration)), { maxLength: 10 })
  .chain((chosen) =>
    objectOf(
      Object.fromEntries(
        Object.entries(kubeletConfiguration as Schema).filter(([name]) => chosen.includes(name)),
      ),
    ),
  );

const kindly = (value: unknown): string =>
  `${header}${Object.entries(value as object)
    .map(([name, inner]) => `${name}: ${JSON.stringify(inner)}\n`)
    .join('')}`;

test('handles random configurations with drop-ins and flags', async () => {
  await fc.assert(
    fc.asyncProperty(
      someFields,
      someFields,
      fc.array(argument, { maxLength: 2 }),
      async (file, dropIn, more) => {
        const outcome = await loadCommandLine({
          argv: ['--config=/k.yaml', '--config-dir=/d', ...more],
          files: memoryFiles({ '/k.yaml': kindly(file), '/d/a.conf': kindly(dropIn) }),
          host: () => Promise.resolve({ cgroupVersion: 1 }),
        });
        expect(isClear(outcome)).toBe(true);
      },
    ),
    { numRuns: runs },
  );
});

test('handles random texts as files', async () => {
  const line = fc.oneof(
    fc.string({ maxLength: 30 }),
    fc
      .constantFrom(...Object.keys(kubeletConfiguration))
      .chain((name) => words.map((word) => `${name}: ${word}`)),
    fc.constantFrom(
      '---',
      '- a',
      '? b',
      '<<: *x',
      'a: &x {b: *x}',
      '!!binary x',
      '%YAML 1.1',
      '\ta: 1',
      '{',
      '"',
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 6 }), fc.boolean(), async (lines, headed) => {
      const text = `${headed ? header : ''}${lines.join('\n')}`;
      const outcome = await loadCommandLine({
        argv: [
          '--config=/k',
          '--image-credential-provider-config=/k',
          '--image-credential-provider-bin-dir=/b',
        ],
        files: memoryFiles({ '/k': text }),
      });
      expect(isClear(outcome)).toBe(true);
    }),
    { numRuns: runs },
  );
});
