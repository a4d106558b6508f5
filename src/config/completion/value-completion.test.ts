import { describe, expect, test } from 'vitest';
import { allFlags, flagByName } from '../command-line/flag-index.ts';
import { completionScript } from './completion.ts';
import { shortText, valueCompletion } from './value-completion.ts';

describe('valueCompletion', () => {
  const cases = [
    ['enable-server', { kind: 'words', words: ['true', 'false'] }],
    ['version', { kind: 'words', words: ['true', 'raw'] }],
    ['topology-manager-scope', { kind: 'words', words: ['container', 'pod'] }],
    ['cgroup-driver', { kind: 'words', words: ['cgroupfs', 'systemd'] }],
    ['config', { kind: 'file' }],
    ['tls-cert-file', { kind: 'file' }],
    ['config-dir', { kind: 'directory' }],
    ['max-pods', { kind: 'none' }],
  ] as const;
  for (const [name, completion] of cases)
    test(`--${name}`, () => {
      const entry = flagByName.get(name);
      expect(entry === undefined ? undefined : valueCompletion(entry)).toEqual(completion);
    });
});

test('every flag whose name ends like that of a path completes paths', () => {
  const others = allFlags
    .filter(({ name }) => /-(dir|file|path)$|kubeconfig$|^config$/.test(name))
    .filter((entry) => !['file', 'directory'].includes(valueCompletion(entry).kind));
  expect(others.map(({ name }) => name)).toEqual([]);
});

test('every script names every flag', () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const script = completionScript(shell) ?? '';
    const missing = allFlags.filter(
      ({ name }) => !script.includes(shell === 'fish' ? `-l ${name} ` : `--${name}`),
    );
    expect(missing.map(({ name }) => name)).toEqual([]);
  }
  expect(completionScript('tcsh')).toBeUndefined();
});

test('shortText: the first sentence', () => {
  expect(shortText('One thing. Another.')).toBe('One thing');
  expect(shortText(`${'x'.repeat(100)}.`)).toHaveLength(80);
});
