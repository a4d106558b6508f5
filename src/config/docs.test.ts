import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { allFlags } from './command-line/flag-index.ts';
import { referencePages } from './docs.ts';
import { markedSettings } from './marked-settings.ts';
import { generatedBlocks, withBlock } from './missing-docs.ts';
import type { Schema } from './schema.ts';
import { credentialProviderConfig } from './table/credential-providers.ts';
import { kubeletConfiguration } from './table/kubelet-configuration.ts';
import { kubeletFlags } from './table/kubelet-flags.ts';

describe('the reference pages', () => {
  for (const [name, text] of Object.entries(referencePages())) {
    test(`docs/${name} is as generated; run: make generate`, () => {
      expect(readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')).toBe(text);
    });
  }

  test('contain every field and every flag', () => {
    const pages = referencePages();
    const fields = Object.keys(kubeletConfiguration).filter(
      (name) => !pages['configuration.md']?.includes(`| \`${name}`),
    );
    const flags = allFlags
      .filter(({ name }) => !pages['flags.md']?.includes(`\`--${name}\``))
      .map(({ name }) => name);
    expect([fields, flags]).toEqual([[], []]);
  });
});

test.each(Object.entries(generatedBlocks()))(
  '%s lists every setting without effect; run: make generate',
  (page, block) => {
    const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');
    expect(withBlock(text, block)).toBe(text);
  },
);

test('the lists of settings without effect name each of them', () => {
  const blocks = Object.values(generatedBlocks()).map(({ text }) => text);
  const unnamed = markedSettings
    .filter(({ effect }) => effect.kind === 'none-yet' || effect.kind === 'partly')
    .map(({ field, flag, gate }) => `\`${field ?? flag ?? gate ?? ''}\``)
    .filter((name) => blocks.some((text) => !text.includes(name)));
  expect(unnamed).toEqual([]);
});

test('the description of every row is a sentence', () => {
  const faults = (schema: Schema, path: string): readonly string[] =>
    Object.entries(schema).flatMap(([name, field]) => [
      ...(/^[A-Za-z0-9_*"<][^]*\.$/.test(field.doc) && !field.doc.includes('  ')
        ? []
        : [`${path}${name}: ${field.doc}`]),
      ...(field.fields === undefined ? [] : faults(field.fields, `${path}${name}.`)),
    ]);
  expect(
    [kubeletConfiguration, kubeletFlags, credentialProviderConfig].flatMap((schema) => faults(schema, '')),
  ).toEqual([]);
});
