// bin/kubelet must start under every supported major version of Node, whose V8 accept different flags.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'launcher-'));
  mkdirSync(join(directory, 'bin'));
  mkdirSync(join(directory, 'dist', 'kubelet'), { recursive: true });
  mkdirSync(join(directory, 'path'));
  cpSync(resolve(import.meta.dirname, '../../../bin/kubelet'), join(directory, 'bin', 'kubelet'));
});

afterEach(() => rmSync(directory, { recursive: true }));

function launch(path: string, ...args: readonly string[]): string {
  const env = { PATH: `${path}:/usr/bin:/bin` };
  return execFileSync(join(directory, 'bin', 'kubelet'), args, { env, encoding: 'utf8', stdio: 'pipe' });
}

function writeBundle(): void {
  const text = 'console.log(JSON.stringify({ flags: process.execArgv, args: process.argv.slice(2) }));';
  writeFileSync(join(directory, 'dist', 'kubelet', 'main.mjs'), text);
}

describe('bin/kubelet', () => {
  test('starts under this Node and passes its arguments on', () => {
    writeBundle();
    const started = JSON.parse(launch(dirname(process.execPath), '--v=2', 'a b')) as Record<string, unknown>;
    expect(started['args']).toEqual(['--v=2', 'a b']);
    expect(started['flags']).toContain('--max-semi-space-size=2');
  });

  for (const [version, flag, absent] of [
    ['v20.20.2', '--interrupt-budget=1000000', '--invocation-count-for-turbofan'],
    ['v22.12.0', '--invocation-count-for-turbofan=30000', '--interrupt-budget'],
    ['v24.1.0', '--invocation-count-for-turbofan=30000', '--interrupt-budget'],
  ] as const)
    test(`passes only flags that the V8 of Node ${version} accepts`, () => {
      writeBundle();
      const script = `#!/bin/sh\n[ "$1" = --version ] && echo ${version} || echo "$@"\n`;
      writeFileSync(join(directory, 'path', 'node'), script, { mode: 0o755 });
      const printed = launch(join(directory, 'path'), '--v=2');
      expect(printed).toContain(flag);
      expect(printed).not.toContain(absent);
    });

  test('names the missing bundle and how to build it', () => {
    expect(() => launch(dirname(process.execPath))).toThrow(/main\.mjs is missing, run 'make build'/);
  });
});
