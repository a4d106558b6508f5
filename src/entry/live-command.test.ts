// The command with live configuration on real files: what is watched, and in which ways it changes. The kubelet is a stand-in.
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'vitest';
import { untilAborted } from '../base/abort/race-abort.ts';
import { realClock } from '../base/clock.ts';
import { startComponent } from '../base/component.ts';
import { Aborted } from '../base/errors.ts';
import { type Logger, silentLogger } from '../base/log/log.ts';
import type { LiveConfiguration } from '../config/live/live-configuration.ts';
import { ConfigurationDirectory } from '../edge/files/configuration-files.ts';
import type { ConfigStatus } from '../live-config/config-status.ts';
import { type LiveCommandRun, liveConfigFlags, runLiveCommand } from './live-command.ts';

const head = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const patience = { timeout: 20_000, interval: 20 };

/** Of a test that runs beside others. */
type Context = Pick<TestContext, 'expect' | 'onTestFinished'>;

interface Command {
  readonly root: string;
  /** How often a kubelet was begun. */
  readonly runs: () => number;
  readonly warnings: readonly string[];
  readonly status: () => ConfigStatus;
  readonly hangUp: () => void;
  /** Waits until maxPods has this value. */
  untilMaxPods(want: number): Promise<void>;
  stop(): Promise<number>;
}

/** `{root}` in a flag is the directory of the test, which `prepare` fills. */
async function command(
  { expect, onTestFinished }: Context,
  flags: readonly string[],
  prepare: (root: string) => Promise<void>,
): Promise<Command> {
  const root = await mkdtemp(join(tmpdir(), 'live-command-'));
  await prepare(root);
  const argv = [...flags, `--root-dir=${root}/state`, '--live-config-watch-period=1s'].map((flag) =>
    flag.replace('{root}', root),
  );
  const known = liveConfigFlags(argv);
  if (known === undefined) throw new Error('not enabled');
  const seen: { status?: ConfigStatus; inForce?: LiveConfiguration; runs: number } = { runs: 0 };
  const run: LiveCommandRun = async (outcome, _log, live, life) => {
    if (live === undefined) throw new Error('without live configuration');
    const inForce = live.kubelet.begin(outcome.config);
    Object.assign(seen, { inForce, status: live.status, runs: seen.runs + 1 });
    const stores = { ownNode: { get: () => undefined } } as never;
    const trial = { checks: [], fault: () => undefined, isShuttingDown: () => false };
    live.kubelet.assembled({ stores, trial });
    await startComponent(live.started, life.signal);
    await untilAborted(life.signal);
    return 0;
  };
  const warnings: string[] = [];
  const log: Logger = {
    ...silentLogger,
    warn: (message) => void warnings.push(message),
    with: () => log,
  };
  let hangUp = (): void => undefined;
  const stop = new AbortController();
  const ended = runLiveCommand(
    {
      argv,
      flags: known,
      files: new ConfigurationDirectory(root, realClock),
      host: async () => ({ cgroupVersion: 2, hasTlsGroup: () => true }),
      run,
      loggerOf: () => log,
      onHangup: (listener) => {
        hangUp = listener;
      },
      clock: realClock,
      random: () => 0.5,
    },
    stop,
  );
  onTestFinished(async () => {
    stop.abort(new Aborted('the test ends'));
    await ended;
    await rm(root, { recursive: true });
  });
  return {
    root,
    runs: () => seen.runs,
    warnings,
    status: () => {
      if (seen.status === undefined) throw new Error('no kubelet was begun');
      return seen.status;
    },
    hangUp: () => hangUp(),
    untilMaxPods: (want) => expect.poll(() => seen.inForce?.current().maxPods, patience).toBe(want),
    stop: async () => {
      stop.abort(new Aborted('SIGTERM'));
      return await ended;
    },
  };
}

const until = ({ expect }: Context, node: Command, outcome: string): Promise<void> =>
  expect.poll(() => node.status().entries()[0]?.outcome, patience).toBe(outcome);

test.concurrent('a file that is mounted from a ConfigMap, whose data directory is swapped', async (context) => {
  const { expect } = context;
  const publish = async (root: string, version: string, text: string): Promise<void> => {
    await mkdir(join(root, 'mount', `..${version}`), { recursive: true });
    await writeFile(join(root, 'mount', `..${version}`, 'kubelet.yaml'), text);
    await symlink(`..${version}`, join(root, 'mount/..next'));
    await rename(join(root, 'mount/..next'), join(root, 'mount/..data'));
  };
  const node = await command(
    context,
    ['--live-config=Apply', '--config={root}/kubelet.yaml'],
    async (root) => {
      await publish(root, 'v1', `${head}maxPods: 11\n`);
      await symlink('..data/kubelet.yaml', join(root, 'mount/kubelet.yaml'));
      await symlink('mount/kubelet.yaml', join(root, 'kubelet.yaml'));
    },
  );
  await node.untilMaxPods(11);
  await until(context, node, 'good');
  await publish(node.root, 'v2', `${head}maxPods: 12\n`);
  await rm(join(node.root, 'mount/..v1'), { recursive: true });
  await node.untilMaxPods(12);
  await publish(node.root, 'v3', `${head}maxPods: 13\n`);
  await node.untilMaxPods(13);
  // As a start does.
  const more = `${head}maxPods: 14\n---\nmaxPods: 15\n`;
  await publish(node.root, 'v4', more);
  await node.untilMaxPods(14);
  const [warning = ''] = node.warnings;
  expect(warning).toMatch(/more than one document; only the first is read/);
  await publish(node.root, 'v5', more.replace('14', '16'));
  await node.untilMaxPods(16);
  expect(node.runs()).toBe(1);
  expect(await node.stop()).toBe(0);
}, 60_000);

test.concurrent('drop-ins that are added, renamed, linked and removed with their directory', async (context) => {
  const { expect } = context;
  const node = await command(
    context,
    ['--live-config=Apply', '--config=kubelet.yaml', '--config-dir=drop-ins'],
    async (root) => {
      await mkdir(join(root, 'drop-ins'));
      await writeFile(join(root, 'kubelet.yaml'), `${head}maxPods: 10\n`);
    },
  );
  const dropIns = join(node.root, 'drop-ins');
  const write = (name: string, maxPods: number): Promise<void> =>
    writeFile(join(dropIns, name), `${head}maxPods: ${maxPods}\n`);
  await node.untilMaxPods(10);
  await until(context, node, 'good');
  await write('20.conf', 20);
  await node.untilMaxPods(20);
  // An earlier name is merged before it.
  await write('10.conf', 30);
  await rename(join(dropIns, '10.conf'), join(dropIns, '30.conf'));
  await node.untilMaxPods(30);
  await rename(join(dropIns, '30.conf'), join(dropIns, '30.off'));
  await node.untilMaxPods(20);
  await mkdir(join(node.root, 'target'));
  await writeFile(join(node.root, 'target/file'), `${head}maxPods: 40\n`);
  await symlink('../target/file', join(dropIns, '40.conf'));
  await node.untilMaxPods(40);
  await writeFile(join(node.root, 'target/file'), `${head}maxPods: 41\n`);
  await node.untilMaxPods(41);
  await until(context, node, 'good');
  // A missing directory is an error, as at the start; the configuration in force stays.
  await rm(dropIns, { recursive: true });
  await until(context, node, 'rejected');
  await node.untilMaxPods(41);
  await mkdir(dropIns);
  await write('50.conf', 50);
  await node.untilMaxPods(50);
  expect(node.status().current().error).toBeUndefined();
}, 60_000);

test.concurrent('a file that is written in place and in pieces, and a request to read it', async (context) => {
  const { expect } = context;
  const path = 'kubelet.yaml';
  const node = await command(
    context,
    ['--live-config=Restart', '--config={root}/kubelet.yaml'],
    async (root) => {
      await writeFile(join(root, path), `${head}maxPods: 10\n`);
    },
  );
  await node.untilMaxPods(10);
  await until(context, node, 'good');
  await writeFile(join(node.root, path), '');
  await writeFile(join(node.root, path), `${head}maxPods: 11\nport: 10260\n`);
  await node.untilMaxPods(11);
  expect(node.runs()).toBe(2);
  await until(context, node, 'good');
  await writeFile(join(node.root, path), 'maxPods: [');
  const loads = node.status().loads().invalid;
  node.hangUp();
  await expect.poll(() => node.status().loads().invalid, patience).toBeGreaterThan(loads);
  await until(context, node, 'rejected');
  await node.untilMaxPods(11);
  expect(await node.stop()).toBe(0);
}, 60_000);

test.concurrent('a directory that does not exist at the start ends it, as without the feature', async (context) => {
  const { expect } = context;
  const node = await command(
    context,
    ['--live-config=Restart', '--config=kubelet.yaml', '--config-dir=missing'],
    async (root) => {
      await writeFile(join(root, 'kubelet.yaml'), `${head}maxPods: 10\n`);
    },
  );
  expect(await node.stop()).toBe(1);
  expect(node.runs()).toBe(0);
});
