// With real programs.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withDeadline } from '../../base/abort/deadline.ts';
import { realClock } from '../../base/clock.ts';
import { Secret } from '../../base/log/secret.ts';
import { type PluginProgram, PluginPrograms } from './run-plugin.ts';

let dir = '';
let programs: PluginPrograms;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'plugins-'));
  programs = new PluginPrograms(dir);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const input = new Secret('{"image":"a","serviceAccountToken":"tok-en"}\n');
const { signal } = new AbortController();
function program(name: string, script: string, over: Partial<PluginProgram> = {}): PluginProgram {
  writeFileSync(join(dir, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(dir, name), 0o755);
  return { name, args: [], env: [], input, ...over };
}

test('passes input, arguments and environment', async () => {
  const env = [
    { name: 'HOME', value: '/own' },
    { name: 'EXTRA', value: 'x' },
  ];
  const one = program('echo', 'echo "$1|$2|$HOME|$EXTRA|${PATH:+path}"; cat', { args: ['a', 'b c'], env });
  expect(await programs.run(one, signal)).toBe(`a|b c|/own|x|path\n${input.reveal()}`);
});

test('succeeds if the plugin does not read its input', async () => {
  const big = new Secret('x'.repeat(1 << 18));
  expect(await programs.run(program('deaf', 'exec <&-; echo fine', { input: big }), signal)).toBe('fine\n');
});

test.each([
  [
    'fails',
    'echo pass-word; echo "no such region tok-en" >&2; exit 3',
    'exit status 3: no such region --- masked ---',
  ],
  ['is silent', 'exit 1', 'exit status 1'],
  ['dies', 'kill -9 $$', 'signal: SIGKILL'],
  ['floods', 'while :; do echo pass-word-pass-word-pass-word; done', 'it wrote more than 1048576 bytes'],
])('a plugin that %s', async (name, script, why) => {
  const err = await programs.run(program(name, script), signal).catch((caught: Error) => caught.message);
  expect(err).toBe(`error execing credential provider plugin ${name}: ${why}`);
});

test('truncates the standard error of a plugin', async () => {
  const one = program(
    'loud',
    'i=0; while [ $i -lt 2000 ]; do echo "complaint $i" >&2; i=$((i+1)); done; exit 1',
  );
  const err = await programs.run(one, signal).catch((caught: Error) => caught.message);
  expect(err.length).toBeLessThan(1200);
});

test('kills a plugin that hangs, and its children, when the signal is aborted', async () => {
  const pids = join(dir, 'pids');
  const one = program('hangs', `sleep 1000 & echo "$$ $!" > ${pids}; wait`);
  const stop = new AbortController();
  const run = programs.run(one, stop.signal);
  await withDeadline({ clock: realClock, ms: 20_000, what: 'the program to start' }, async (aborted) => {
    while (!existsSync(pids) || readFileSync(pids, 'utf8') === '') await realClock.sleep(10, aborted);
  });
  stop.abort(new Error('enough'));
  await expect(run).rejects.toThrow('enough');
  const gone = (pid: string): boolean => {
    const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : '';
    return stat === '' || /\) [ZX] /.test(stat);
  };
  await withDeadline({ clock: realClock, ms: 20_000, what: 'both to end' }, async (aborted) => {
    const both = readFileSync(pids, 'utf8').trim().split(' ');
    while (!both.every(gone)) await realClock.sleep(10, aborted);
  });
});

test('rejects a plugin that does not exist or is not executable', async () => {
  await expect(programs.run({ name: 'absent', args: [], env: [], input }, signal)).rejects.toThrow(
    /error execing credential provider plugin absent: .*ENOENT/,
  );
  program('good', 'exit 0');
  program('locked', 'exit 0');
  chmodSync(join(dir, 'locked'), 0o644);
  await programs.check(['good']);
  await expect(programs.check(['good', 'absent'])).rejects.toThrow(
    `plugin binary executable ${dir}/absent did not exist`,
  );
  await expect(programs.check(['locked'])).rejects.toThrow('error inspecting binary executable');
  await expect(new PluginPrograms(join(dir, 'none')).check([])).rejects.toThrow('did not exist');
});
