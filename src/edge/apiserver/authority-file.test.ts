import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestAuthority } from '../../../test/api-server/pki.ts';
import { type Logger, silentLogger } from '../../base/log/log.ts';
import { AuthorityFile } from './authority-file.ts';

const [one, two] = [new TestAuthority().cert, new TestAuthority().cert];
let directory: string;
let path: string;
let counted: string[];
let errors: string[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ca-'));
  path = join(directory, 'ca.crt');
  counted = [];
  errors = [];
});

afterEach(() => rmSync(directory, { recursive: true }));

function authorityFile(enabled = true): AuthorityFile {
  const log: Logger = { ...silentLogger, error: (message) => void errors.push(message) };
  const count = (result: string, reason: string): void => void counted.push(`${result} ${reason}`);
  return new AuthorityFile({ file: path, reloads: { enabled, count }, log });
}

const certificates = (pem: string): number => pem.split('BEGIN CERTIFICATE').length - 1;

test('rereads the file and counts every attempt as upstream does', async () => {
  writeFileSync(path, one);
  const file = authorityFile();
  const first = await file.read();
  expect([certificates(first), counted]).toEqual([1, []]);
  expect(await file.read()).toBe(first);
  writeFileSync(path, `words\n${one}${two}`);
  expect(certificates(await file.read())).toBe(2);
  writeFileSync(path, two);
  const last = await file.read();
  expect(last).not.toBe(first);
  for (const broken of ['', 'nonsense', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----']) {
    writeFileSync(path, broken);
    expect(await file.read()).toBe(last);
  }
  rmSync(path);
  expect(await file.read()).toBe(last);
  expect(counted).toEqual([
    'success unchanged',
    'success updated',
    'success updated',
    'failure empty',
    'failure ca_parse_error',
    'failure ca_parse_error',
    'failure read_error',
  ]);
});

test('logs a lasting failure once, and again after a success', async () => {
  writeFileSync(path, one);
  const file = authorityFile();
  await file.read();
  for (let round = 0; round < 2; round++) {
    rmSync(path);
    for (let attempt = 0; attempt < 5; attempt++) await file.read();
    expect(errors).toHaveLength(round + 1);
    writeFileSync(path, one);
    await file.read();
  }
});

test('keeps the bundle of the first read without the gate', async () => {
  writeFileSync(path, one);
  const file = authorityFile(false);
  const first = await file.read();
  writeFileSync(path, two);
  expect([await file.read(), counted]).toEqual([first, []]);
});

test('accepts a bundle with an invalid block besides a certificate', async () => {
  writeFileSync(path, `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${one}`);
  expect(certificates(await authorityFile().read())).toBe(1);
});

test('rejects while there was no certificate yet, and recovers', async () => {
  const file = authorityFile();
  await expect(file.read()).rejects.toThrow(`cannot read ${path}`);
  writeFileSync(path, 'nonsense');
  await expect(file.read()).rejects.toThrow(`cannot read ${path}`);
  writeFileSync(path, one);
  expect(certificates(await file.read())).toBe(1);
});
