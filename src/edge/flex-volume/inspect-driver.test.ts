import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { executableName, type InspectedDriver, inspectDriver, unsafe } from './inspect-driver.ts';

describe('inspectDriver', () => {
  let dir: string;
  let root: string;
  let path: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'flex-'));
    root = join(dir, 'exec');
    path = join(root, 'vendor~driver', 'driver');
    mkdirSync(join(root, 'vendor~driver'), { recursive: true });
    writeFileSync(path, '#!/bin/sh\n', { mode: 0o755 });
  });
  afterEach(() => rmSync(dir, { recursive: true }));
  const inspected = async (): Promise<string> => {
    const file = await inspectDriver(root, 'vendor~driver');
    return file.is === 'refused' ? file.why.replace(dir, '') : file.is;
  };

  const cases: readonly (readonly [string, () => void, string])[] = [
    ['an executable file', () => undefined, 'executable'],
    ['no file', () => rmSync(path), 'missing'],
    ['no directory', () => rmSync(join(root, 'vendor~driver'), { recursive: true }), 'missing'],
    ['no root', () => rmSync(root, { recursive: true }), 'missing'],
    [
      'a file instead of the directory',
      () => {
        rmSync(join(root, 'vendor~driver'), { recursive: true });
        writeFileSync(join(root, 'vendor~driver'), '');
      },
      'missing',
    ],
    [
      'a link to a directory, as upstream',
      () => {
        renameSync(join(root, 'vendor~driver'), join(dir, 'other'));
        symlinkSync(join(dir, 'other'), join(root, 'vendor~driver'));
      },
      'missing',
    ],
    ['a dangling link', () => (rmSync(path), symlinkSync('/nowhere', path)), 'missing'],
    [
      'a link to an executable',
      () => {
        renameSync(path, join(dir, 'target'));
        symlinkSync(join(dir, 'target'), path);
      },
      'executable',
    ],
    [
      'a link in a circle',
      () => (rmSync(path), symlinkSync(path, path)),
      '/exec/vendor~driver/driver cannot be inspected: ELOOP',
    ],
    [
      'a directory',
      () => (rmSync(path), mkdirSync(path)),
      '/exec/vendor~driver/driver is not a regular file',
    ],
    ['a file without x', () => chmodSync(path, 0o644), '/exec/vendor~driver/driver is not executable'],
    [
      'a file that all may write',
      () => chmodSync(path, 0o777),
      '/exec/vendor~driver/driver is writable by all users',
    ],
    [
      'a directory that all may write',
      () => chmodSync(join(root, 'vendor~driver'), 0o777),
      '/exec/vendor~driver is writable by all users',
    ],
    ['a root that all may write', () => chmodSync(root, 0o777), '/exec is writable by all users'],
    ['a sticky root', () => chmodSync(root, 0o1777), 'executable'],
    [
      'a link into a directory that all may write',
      () => {
        mkdirSync(join(dir, 'open'));
        chmodSync(join(dir, 'open'), 0o777);
        renameSync(path, join(dir, 'open', 'target'));
        symlinkSync(join(dir, 'open', 'target'), path);
      },
      '/open is writable by all users',
    ],
  ];
  for (const [title, prepare, want] of cases)
    test(`${title}: ${want.includes(' ') ? 'refused' : want}`, async () => {
      prepare();
      expect(await inspected()).toBe(want);
    });

  test('a replacement has another identity, even with the same size and time', async () => {
    const identity = async (): Promise<string> => {
      const file: InspectedDriver = await inspectDriver(root, 'vendor~driver');
      return file.is === 'executable' ? file.identity : '';
    };
    utimesSync(path, 1_000, 1_000);
    const first = await identity();
    expect(await identity()).toBe(first);
    writeFileSync(`${path}.new`, '#!/bin/zh\n', { mode: 0o755 });
    utimesSync(`${path}.new`, 1_000, 1_000);
    renameSync(`${path}.new`, path);
    const second = await identity();
    expect(second).not.toBe(first);
    writeFileSync(path, '#!/bin/yh\n');
    utimesSync(path, 1_000, 1_000);
    expect(await identity()).not.toBe(second);
  });
});

const modes: readonly (readonly [string, { uid: bigint; gid: bigint; mode: bigint }, string | undefined])[] =
  [
    ['root’s file', { uid: 0n, gid: 0n, mode: 0o755n }, undefined],
    ['writable by root’s group', { uid: 0n, gid: 0n, mode: 0o775n }, undefined],
    ['writable by another group', { uid: 0n, gid: 54_321n, mode: 0o775n }, '/d is writable by group 54321'],
    ['not writable by another group', { uid: 0n, gid: 54_321n, mode: 0o755n }, undefined],
    [
      'another user’s',
      { uid: 54_321n, gid: 0n, mode: 0o555n },
      '/d belongs to user 54321, which could change it',
    ],
  ];
for (const [title, stats, want] of modes)
  test(`unsafe: a file ${title}`, () => expect(unsafe('/d', stats)).toBe(want));

test('executableName: the part after the last ~', () => {
  expect(['vendor~driver', 'driver', 'a~b~c'].map(executableName)).toEqual(['driver', 'driver', 'c']);
});
