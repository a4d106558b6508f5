// kubelet logs against a fake kubelet.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CommandRig, hostileText, runningPod } from '../../../test/builders/command-rig.ts';
import { Aborted } from '../../base/errors.ts';
import { ReaderGone } from './process-output.ts';

let rig: CommandRig;
let node: CommandRig['node'];
const run: CommandRig['run'] = (...args) => rig.run(...args);
beforeEach(async () => {
  rig = new CommandRig();
  ({ node } = rig);
  await node.start();
});
afterEach(() => node.remove());

describe('logs', () => {
  const webPath = '/containerLogs/default/hello-node/web';
  const clockPath = '/containerLogs/default/hello-node/clock';
  test('prints the bytes of the first container, and names the others', async () => {
    node.answers.set(webPath, `one\n${hostileText}\n`);
    expect(await run('logs hello --tail 5 --since 90s --timestamps')).toEqual({
      code: 0,
      stdout: `one\n${hostileText}\n`,
      stderr: 'Defaulted container "web" out of: web, clock\n',
    });
    expect(node.requests.at(-1)).toBe(`${webPath}?tailLines=5&sinceSeconds=90&timestamps=true`);
  });
  test('on a terminal escapes are visible, unless --raw', async () => {
    node.answers.set(webPath, `\u001b[31mred\u001b[0m ${hostileText}\n`);
    expect((await run('logs hello', { columns: 80 })).stdout).toBe(
      '\u001b[31mred\u001b[0m \\x1b]0;t\\x07\\u202e\n\u001b[0m',
    );
    expect((await run('logs hello --raw', { columns: 80 })).stdout).toContain(hostileText);
  });
  test('all containers, lines with a text, a prefix', async () => {
    node.answers.set(webPath, 'a 1\nb 2\n');
    node.answers.set(clockPath, 'b 3');
    expect(await run('logs default/hello-node --all-containers --prefix --grep b')).toMatchObject({
      stdout: '[pod/hello-node/web] b 2\n[pod/hello-node/clock] b 3',
    });
  });
  test('an unknown container, and the message of the kubelet', async () => {
    expect((await run('logs hello -c nope')).stderr).toContain(
      'no container nope in the pod; it has web, clock',
    );
    node.answers.set(webPath, (response) =>
      response.writeHead(400).end('{"message": "is waiting to start"}'),
    );
    expect((await run('logs hello -c web')).stderr).toBe('kubelet logs: is waiting to start (400)\n');
  });
  test('a reader that is gone is a clean end', async () => {
    node.answers.set(webPath, (response) => response.write('2026-01-01T00:00:00.000000001Z endless'));
    const gone = (): never => {
      throw new ReaderGone('the reader is gone');
    };
    expect(await run('logs hello -c web', { onPrint: gone })).toMatchObject({ code: 0, stderr: '' });
    expect(await run('logs hello -c web -f', { onPrint: gone })).toMatchObject({ code: 0, stderr: '' });
  });
  test('-f survives a restart of the kubelet and ends with the container', async () => {
    const line = (ns: number, text: string): string => `2026-01-01T00:00:00.00000000${ns}Z ${text}\n`;
    const all = [line(1, 'one'), line(2, 'two'), line(2, 'two'), line(3, 'three')];
    node.answers.set(webPath, (response) =>
      response.write(`${all.slice(0, 2).join('')}${all[2]?.slice(0, -3)}`),
    );
    const restart = async (): Promise<void> => {
      await node.stop();
      node.answers.set(webPath, 404);
      let rejections = 0;
      node.answers.set(webPath, (response, url) => {
        if (rejections++ === 0) {
          response.writeHead(404).end('pod "hello-node" does not exist');
          return;
        }
        const since = url.searchParams.get('sinceTime') ?? '';
        const ended = { ...runningPod('default', 'hello-node', ['web']), status: { containerStatuses: [] } };
        node.answers.set('/pods', JSON.stringify({ items: [ended] }));
        response.end(all.filter((each) => each.slice(0, 30) >= since).join(''));
      });
      await node.start();
    };
    let isRestarted = false;
    const { code, stderr, stdout } = await run('logs hello -c web -f --tail=3', {
      onPrint: (text) => {
        if (text.endsWith('t') && !isRestarted) {
          isRestarted = true;
          void restart();
        }
      },
    });
    expect(stdout).toBe('one\ntwo\ntwo\nthree\n');
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^kubelet logs: the connection ended \(.*\), reconnecting\nkubelet logs: reconnected\n$/,
    );
    expect(node.requests.filter((each) => each.startsWith(webPath)).at(0)).toBe(
      `${webPath}?tailLines=3&follow=true&timestamps=true`,
    );
  });
  test('-f ends with SIGINT', async () => {
    node.answers.set(webPath, (response) => response.write('2026-01-01T00:00:00.000000001Z one\n'));
    const { code, stdout } = await run('logs hello -c web -f', {
      onPrint: () => rig.stop.abort(new Aborted('SIGINT')),
    });
    expect([code, stdout]).toEqual([130, 'one\n']);
  });
});
