// kubelet ps and history against a fake kubelet, and the failures of all commands that show a node.

import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CommandRig, hostileText } from '../../../test/builders/command-rig.ts';
import { Aborted } from '../../base/errors.ts';

let rig: CommandRig;
let node: CommandRig['node'];
const run: CommandRig['run'] = (...args) => rig.run(...args);
beforeEach(async () => {
  rig = new CommandRig();
  ({ node } = rig);
  await node.start();
});
afterEach(() => node.remove());

describe('ps', () => {
  test('lists pods with what they wait for', async () => {
    const { code, stderr, stdout } = await run('ps');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^POD +READY +STATUS +RESTARTS +AGE +IP +EXPLANATION\n/);
    expect(stdout).toContain('running \\x1b]0;t\\x07\\u202e');
    expect(stdout).toMatch(/\nother\/db +1\/1 +Running +0 +10\.0\.0\.2\n$/);
  });
  test('-n selects, -o json has the texts as they are', async () => {
    expect((await run('ps -n other')).stdout).not.toContain('hello');
    const { stdout } = await run('ps -o json -n default');
    expect(stdout).toMatch(/^[\x20-\x7e\n]*$/);
    expect(JSON.parse(stdout)).toMatchObject({
      items: [{ name: 'hello-node', explanation: `running ${hostileText}` }],
    });
  });
  test('a kubelet without /explain', async () => {
    node.answers.delete('/explain');
    expect((await run('ps')).code).toBe(0);
  });
  test('--watch prints changes until a signal', async () => {
    const { code, stdout } = await run('ps -w', { onPrint: () => rig.stop.abort(new Aborted('SIGINT')) });
    expect(code).toBe(130);
    expect(stdout).toMatch(
      /^[\d:]{8} default\/hello-node: web Running, restarts 0, pod Running at 10\.0\.0\.2\n/,
    );
  });
  test('--watch draws within a terminal', async () => {
    const { stdout } = await run('ps -w', {
      columns: 40,
      onPrint: () => rig.stop.abort(new Aborted('SIGTERM')),
    });
    const lines = stdout.replaceAll(/\p{Cc}\[[\dHJK]*/gu, '').split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
  });
});

describe('history', () => {
  test('lists ends, with the last lines on request', async () => {
    const { code, stderr, stdout } = await run('history --limit 5');
    expect([code, stderr]).toEqual([0, 'There are older ends: --limit shows up to 1000.\n']);
    expect(node.requests).toContain('/explain/history?limit=5');
    expect(stdout).toMatch(/^[\x20-\x7e\n]*$/);
    expect(stdout).toMatch(/\n2026-01-01T00:00:00Z +default\/gone-node +web +Container web exited \\x1b/);
    expect((await run('history --lines')).stdout).toContain('  | last    line\n  | \\x1b]0;t');
  });
  test('finds a pod that is gone', async () => {
    expect((await run('history gone')).stdout).toContain('  | last');
    expect(node.requests.at(-1)).toBe('/explain/history?pod=default%2Fgone-node&limit=20');
    await run('history default/older');
    expect(node.requests.at(-1)).toBe('/explain/history?pod=default%2Folder&limit=20');
  });
  test('a port without it', async () => {
    node.answers.delete('/explain/history');
    expect((await run('history')).stderr).toMatch(
      /^kubelet history: this kubelet does not serve its history here/,
    );
  });
});

describe('failures are one line with the fix', () => {
  test('no socket, and no kubelet', async () => {
    await node.stop();
    expect(await run('ps')).toEqual({
      code: 1,
      stdout: '',
      stderr: `kubelet ps: there is no socket ${node.socketPath}: is the kubelet running, and is this its --root-dir? --server connects to a port instead\n`,
    });
    writeFileSync(node.socketPath, '');
    expect((await run('ps')).stderr).toBe(
      `kubelet ps: no kubelet listens on ${node.socketPath}: is it running?\n`,
    );
  });
  test.each([
    [401, /does not know this client \(401\): set --client-certificate/],
    [403, /denies GET \/pods \(403\): rejected with 403/],
    [404, /does not serve \/pods \(404\)/],
    [500, /: rejected with 500 \(500\)/],
  ])('status %i', async (code, message) => {
    node.answers.set('/pods', code);
    const outcome = await run('ps');
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toMatch(message);
    expect(outcome.stderr.trim().split('\n')).toHaveLength(1);
  });
  test('no JSON, and a hostile message', async () => {
    node.answers.set('/pods', '<html>');
    expect((await run('ps')).stderr).toBe(
      'kubelet ps: the server did not answer with JSON: is it a kubelet?\n',
    );
    node.answers.set('/pods', (response) => response.writeHead(500).end(hostileText));
    expect((await run('ps')).stderr).toMatch(/^kubelet ps: [^\p{Cc}\p{Cf}]+\n$/u);
  });
  test('wrong arguments', async () => {
    const usages = [
      'ps --server x',
      'ps --token-file x',
      'logs a --tail x',
      'logs a --since x',
      'logs a -f -p',
      'explain',
      'ps -w -o json',
      'history --limit 0',
    ];
    for (const line of usages) expect([line, (await run(line)).code]).toEqual([line, 2]);
    expect((await run('ps --server http://1.2.3.4 --token-file /dev/null')).stderr).toContain(
      '--token-file needs https',
    );
    expect((await run('ps --server https://x --token-file /none')).stderr).toBe(
      'kubelet ps: failed to read --token-file /none: ENOENT\n',
    );
  });
});
