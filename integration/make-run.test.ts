// `make run`: what it starts, prints and stops, and how it treats a running and a killed run.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { clearWorkspace, findLeftovers, findTraces } from './rig/leftovers.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { mustRun } from './rig/process.ts';
import { waitFor } from './rig/wait.ts';
import type { RigWorkspace } from './rig/workspace.ts';
import { takeOver } from './rig/workspace.ts';

interface Run {
  readonly child: ChildProcess;
  output(): string;
  end(signal: NodeJS.Signals): Promise<number | null>;
}

function start(dir: string): Run {
  const child = spawn(process.execPath, ['tools/run-ts.mjs', 'tools/run.ts', dir], { stdio: 'pipe' });
  const ended = once(child, 'exit');
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += String(chunk)));
  return {
    child,
    output: () => text,
    end: async (signal) => {
      child.kill(signal);
      await ended;
      return child.exitCode;
    },
  };
}

/** The HTTP status for a client without credentials. */
function statusOf(method: string, url: URL): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { method, rejectUnauthorized: false, agent: false, signal: AbortSignal.timeout(30_000) };
    const request = httpsRequest(url, options, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject);
    request.end();
  });
}

/** Lines about the chains of a kubelet in the iptables of this machine. */
async function kubeletChains(): Promise<readonly string[]> {
  const saved = await mustRun('iptables-save', []);
  return saved.split('\n').filter((line) => /KUBE-(KUBELET-CANARY|IPTABLES-HINT|FIREWALL)/.test(line));
}

const bothRun = /hello-local: web Running[\s\S]*hello-local: clock Running/;

describeOnRig('make run', () => {
  let dir: string;
  const runs: Run[] = [];
  const startRun = (): Run => {
    const run = start(dir);
    runs.push(run);
    return run;
  };
  const workspace = (): RigWorkspace =>
    JSON.parse(readFileSync(join(dir, 'live', 'workspace.json'), 'utf8')) as RigWorkspace;

  beforeEach(() => {
    dir = mkdtempSync('/tmp/krun-test-');
  });
  afterEach(async () => {
    for (const run of runs.splice(0)) if (run.child.exitCode === null) await run.end('SIGKILL');
    const left = takeOver(join(dir, 'live'));
    if (left !== undefined) await clearWorkspace(left);
    rmSync(dir, { recursive: true, force: true });
  });

  test('runs the sample, rejects a second run, and leaves nothing behind', async () => {
    const chains = await kubeletChains();
    const run = startRun();
    await waitFor(() => bothRun.test(run.output()), 'both containers to run', 60_000);
    expect(run.output()).toContain('kubelet healthy');
    expect(run.output()).toContain('try next');
    expect(await kubeletChains()).toEqual(chains);

    // The printed command works, and other users of the machine have no access.
    const [, file = '', target = ''] = /curl -sK (\S+) (https:\S+)/.exec(run.output()) ?? [];
    const url = new URL(target);
    expect(await mustRun('curl', ['-sK', file, url.href])).toContain('"name":"hello-local"');
    expect(await statusOf('GET', url)).toBe(401);
    expect(await statusOf('POST', new URL('/run/default/hello-local/web?cmd=id', url))).toBe(401);
    const { mode, uid } = statSync(dirname(file));
    expect([(mode & 0o777).toString(8), uid]).toEqual(['700', process.getuid?.()]);
    const { readOnlyPort } = JSON.parse(
      readFileSync(join(dir, 'live', 'kubelet', 'config.json'), 'utf8'),
    ) as {
      readonly readOnlyPort: number;
    };
    expect(readOnlyPort).toBe(0);

    const [, command = ''] = /(\S*bin\/kubelet explain hello .*?) {2}/.exec(run.output()) ?? [];
    expect(await mustRun('sh', ['-c', command])).toMatch(/^default\/hello-local +Running\n2\/2 ready/);
    const [, page = ''] = /the page of the node: (\S+)/.exec(run.output()) ?? [];
    expect(page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/ui\/#token=\S+$/);
    expect((await fetch(page)).status).toBe(200);

    const second = startRun();
    await once(second.child, 'close');
    expect(second.child.exitCode).toBe(1);
    expect(second.output()).toMatch(
      /^make run: already running here as process \d+; stop it with Ctrl-C there\n$/,
    );

    const held = workspace();
    const traces = findTraces(held);
    expect(await run.end('SIGINT')).toBe(0);
    expect(await findLeftovers(held, traces)).toEqual([]);
    expect(readdirSync(dir)).toEqual(['manifests']);
    expect(readdirSync(join(dir, 'manifests'))).toEqual(['hello.yaml']);
  });

  test('clears the leftovers of a killed run, and runs again', async () => {
    const killed = startRun();
    await waitFor(() => bothRun.test(killed.output()), 'both containers to run', 60_000);
    await killed.end('SIGKILL');
    expect(await findLeftovers(workspace(), findTraces(workspace()))).not.toEqual([]);

    const run = startRun();
    await waitFor(() => bothRun.test(run.output()), 'both containers to run again', 60_000);
    expect(await run.end('SIGTERM')).toBe(0);
    expect(existsSync(join(dir, 'live'))).toBe(false);
  });

  test('stops while it is still starting', async () => {
    const run = startRun();
    await waitFor(() => run.output().includes('starting containerd'), 'the first line', 60_000);
    const held = workspace();
    expect(await run.end('SIGINT')).toBe(0);
    expect(await findLeftovers(held, { cgroups: [`/${held.name}`], sockets: [] })).toEqual([]);
  });
});
