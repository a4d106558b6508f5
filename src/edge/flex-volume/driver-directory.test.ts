import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import { realClock } from '../../base/clock.ts';
import { type LogFields, silentLogger } from '../../base/log/log.ts';
import { DriverDirectory } from './driver-directory.ts';

describe('the watch of FlexVolume drivers', () => {
  let dir: string;
  let root: string;
  let leaks: LeakCheck;
  let reports: ReadonlyMap<string, string>[];
  let warnings: (readonly [string, LogFields])[];
  let watcher: { close(): void } | undefined;
  beforeEach(() => {
    leaks = checkLeaks({ settleMs: 3_000 });
    dir = mkdtempSync(join(tmpdir(), 'flex-'));
    root = join(dir, 'exec');
    reports = [];
    warnings = [];
  });
  afterEach(async () => {
    watcher?.close();
    rmSync(dir, { recursive: true });
    await leaks.assertNone();
  });

  /** Without `rescans` only file events lead to a scan. */
  const start = ({ rescans = false, directory = root } = {}): void => {
    const log = {
      ...silentLogger,
      warn: (message: string, fields: LogFields = {}) => void warnings.push([message, fields]),
    };
    const clock = {
      ...realClock,
      setTimer: (ms: number, fn: () => void) =>
        realClock.setTimer(ms >= 1_000 ? (rescans ? 50 : Number.POSITIVE_INFINITY) : ms, fn),
    };
    watcher = new DriverDirectory({ directory, clock, log }).watch((stamps) => void reports.push(stamps));
  };
  const install = (directory: string, text = '#!/bin/sh\n', mode = 0o755): void => {
    const name = directory.slice(directory.lastIndexOf('~') + 1);
    mkdirSync(join(root, directory), { recursive: true });
    writeFileSync(join(root, directory, `.${name}`), text);
    chmodSync(join(root, directory, `.${name}`), mode);
    // As installers do, so that no half-written file is run.
    renameSync(join(root, directory, `.${name}`), join(root, directory, name));
  };
  const names = (): readonly string[] | undefined => {
    const last = reports.at(-1);
    return last && [...last.keys()].toSorted();
  };
  const stamp = (directory: string): string | undefined => reports.at(-1)?.get(directory);

  test('creates the directory and reports that it is empty', async () => {
    start({ directory: `${root}/` });
    await expect.poll(names).toEqual([]);
    expect(statSync(root).mode & 0o777).toBe(0o755);
  });

  test('reports drivers that exist, also refused ones, and nothing else', async () => {
    install('vendor~driver');
    install('plain');
    install('vendor~open', '', 0o777);
    install('.hidden');
    mkdirSync(join(root, 'empty'));
    writeFileSync(join(root, 'file'), '');
    start();
    await expect.poll(names).toEqual(['plain', 'vendor~driver', 'vendor~open']);
    expect(stamp('vendor~open')).toBe(`${root}/vendor~open/open is writable by all users`);
    expect(stamp('plain')).toMatch(/^[\d:]+$/);
  });

  test('reports a driver that is installed, replaced, corrected and removed', async () => {
    start();
    await expect.poll(names).toEqual([]);
    install('vendor~driver');
    await expect.poll(names).toEqual(['vendor~driver']);
    const first = stamp('vendor~driver');
    install('vendor~driver', '#!/bin/false\n');
    await expect.poll(() => stamp('vendor~driver') !== first).toBe(true);
    chmodSync(join(root, 'vendor~driver', 'driver'), 0o644);
    await expect.poll(() => stamp('vendor~driver')).toContain('is not executable');
    chmodSync(join(root, 'vendor~driver', 'driver'), 0o755);
    await expect.poll(() => stamp('vendor~driver')).toMatch(/^[\d:]+$/);
    rmSync(join(root, 'vendor~driver', 'driver'));
    await expect.poll(names).toEqual([]);
    install('vendor~driver');
    await expect.poll(names).toEqual(['vendor~driver']);
    rmSync(join(root, 'vendor~driver'), { recursive: true });
    await expect.poll(names).toEqual([]);
  });

  test('finds drivers again after the whole directory was removed', async () => {
    install('vendor~driver');
    start({ rescans: true });
    await expect.poll(names).toEqual(['vendor~driver']);
    rmSync(root, { recursive: true });
    await expect.poll(names).toEqual([]);
    await expect.poll(() => readdirSync(dir)).toEqual(['exec']);
    install('vendor~other');
    await expect.poll(names).toEqual(['vendor~other']);
  });

  test('a driver that writes other files into its directory causes no report', async () => {
    install('vendor~driver');
    start();
    await expect.poll(names).toEqual(['vendor~driver']);
    for (let at = 0; at < 50; at++) writeFileSync(join(root, 'vendor~driver', 'driver.log'), `${at}`);
    install('vendor~second');
    await expect.poll(names).toEqual(['vendor~driver', 'vendor~second']);
    expect(reports).toHaveLength(2);
  });

  test('a directory that cannot be created is reported once, and as empty', async () => {
    writeFileSync(join(dir, 'file'), '');
    start({ rescans: true, directory: join(dir, 'file', 'exec') });
    await expect.poll(names).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(warnings.map(([message]) => message)).toEqual([
      'Failed to read the directory of FlexVolume drivers',
    ]);
  });

  test('reads at most 256 drivers', async () => {
    for (let at = 0; at < 300; at++) install(`driver${at}`);
    start();
    await expect.poll(() => names()?.length).toBe(256);
    expect(warnings.map(([message]) => message)).toEqual(['Ignored FlexVolume drivers']);
  });
});
