// The command behind `make run`: starts a private containerd and a standalone kubelet in ./.run (or the folder given as
// argument), runs the pods of its manifests/ and displays them until Ctrl-C. Only the manifests remain afterwards.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { containerdPaths } from '../integration/rig/containerd.ts';
import { freePort, type Kubelet, type KubeletOptions } from '../integration/rig/kubelet.ts';
import { clearWorkspace } from '../integration/rig/leftovers.ts';
import { rigUnavailableReason } from '../integration/rig/prerequisites.ts';
import { identify } from '../integration/rig/process.ts';
import { repositoryRoot } from '../integration/rig/repository.ts';
import { Rig } from '../integration/rig/rig.ts';
import {
  claim,
  ownerOf,
  type RigWorkspace,
  removeIncompleteClaims,
  takeOver,
  workspaceCount,
} from '../integration/rig/workspace.ts';
import type { Pod } from '../src/api/k8s/types.ts';
import { type ExplainedPod, type PodLine, podLines } from '../src/terminal/pod-rows.ts';
import { parseSafeJson } from '../src/terminal/safe-text.ts';
import { TestAuthority } from '../test/api-server/pki.ts';
import { runView } from './run-view.ts';

const root = repositoryRoot();
const runDir = resolve(process.argv[2] ?? join(root, '.run'));
const liveDir = join(runDir, 'live');
const manifestDir = join(runDir, 'manifests');
const accessDir = join(liveDir, 'access');
const curlConfig = join(accessDir, 'curl');
const refreshMs = 500;
const dashboardPort = 4194;
/** Linux limits the path of a unix socket to 108 bytes, and containerd appends to ours. */
const maxSocketBytes = 100;

class CannotRun extends Error {}

function here(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith('..') ? path : short;
}

/** Claims the directory and subnet of this run, and cleans up after a run that was killed. */
async function takeGround(): Promise<RigWorkspace> {
  const first = createHash('sha256').update(runDir).digest().readUInt16BE() % workspaceCount;
  for (let i = 0; i < workspaceCount; i++) {
    const owner = ownerOf(liveDir);
    if (owner !== undefined && identify(owner.pid)?.startTicks === owner.startTicks)
      throw new CannotRun(`already running here as process ${owner.pid}; stop it with Ctrl-C there`);
    const dead = takeOver(liveDir);
    if (dead !== undefined) await clearWorkspace(dead);
    const n = (first + i) % workspaceCount;
    const workspace = { dir: liveDir, name: `krun${n}`, prefix: `10.214.${n}` };
    if (claim(workspace)) return workspace;
  }
  throw new CannotRun('all subnets of 10.214.0.0/16 are in use');
}

function checkMachine(): void {
  const reason = rigUnavailableReason();
  if (reason !== undefined) throw new CannotRun(reason);
  const { socket } = containerdPaths({ dir: liveDir, name: '', prefix: '' });
  if (Buffer.byteLength(socket) > maxSocketBytes)
    throw new CannotRun(`${socket} is too long for a unix socket; clone to a shorter path`);
  if (!existsSync(join(root, 'dist', 'kubelet', 'main.mjs')))
    throw new CannotRun("the kubelet is not built; run 'make build'");
}

/** Copies the sample manifest, unless an earlier run left manifests. */
function copySample(): void {
  mkdirSync(manifestDir, { recursive: true });
  const present = readdirSync(manifestDir).filter((name) => !name.startsWith('.'));
  if (present.length === 0)
    copyFileSync(join(root, 'examples', 'hello.yaml'), join(manifestDir, 'hello.yaml'));
}

/**
 * Issues the kubelet's serving certificate and a client certificate, without which no client can run commands in its containers.
 * Only root can read them; curl reads them through a config file.
 */
function makeAccess(): Pick<KubeletOptions, 'client' | 'config'> {
  mkdirSync(accessDir, { recursive: true, mode: 0o700 });
  const write = (name: string, text: string): string => {
    const path = join(accessDir, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const authority = new TestAuthority();
  const serving = authority.issue({ commonName: 'local', hosts: ['127.0.0.1'], usage: 'server' });
  const client = authority.issue({
    commonName: 'make-run',
    organizations: ['system:masters'],
    usage: 'client',
  });
  const options = {
    cacert: write('ca.crt', authority.cert),
    cert: write('client.crt', client.cert),
    key: write('client.key', client.key),
  };
  write(
    'curl',
    Object.entries(options)
      .map(([name, path]) => `${name} = ${JSON.stringify(path)}\n`)
      .join(''),
  );
  return {
    client,
    config: {
      readOnlyPort: 0,
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: false },
        x509: { clientCAFile: options.cacert },
      },
      tlsCertFile: write('serving.crt', serving.cert),
      tlsPrivateKeyFile: write('serving.key', serving.key),
    },
  };
}

/** The address of the page of the node, with the token that lets its user run commands in containers. */
function pageUrl(kubelet: Kubelet, port: number): string {
  const token = readFileSync(join(kubelet.rootDir, 'dashboard-token'), 'utf8').trim();
  return `http://127.0.0.1:${port}/ui/#token=${token}`;
}

function hints(kubelet: Kubelet, page: string): readonly string[] {
  const command = here(join(root, 'bin', 'kubelet'));
  const to = `--root-dir ${here(kubelet.rootDir)}`;
  const commands = [
    [`edit ${here(join(manifestDir, 'hello.yaml'))}`, 'replaces the pod; deleting the file deletes the pod'],
    ['pkill -9 -f hello-clock', 'kills a container, which the kubelet restarts'],
    [
      `curl -sK ${here(curlConfig)} https://127.0.0.1:${kubelet.securePort}/pods`,
      'lists the pods with their status',
    ],
    [`${command} explain hello ${to}`, 'explains the state of the pod'],
    [`${command} logs -f hello -c clock ${to}`, 'follows the log of a container'],
    [`${command} history ${to}`, 'lists why containers ended'],
    [`less ${here(kubelet.log.path)}`, 'opens the log of the kubelet'],
  ] as const;
  const width = Math.max(...commands.map(([each]) => each.length).filter((length) => length < 80));
  const lines = commands.map(([each, what]) => `  ${each.padEnd(width)}  ${what}`);
  return [
    `the page of the node: ${page}`,
    'try next, in another terminal:',
    ...lines,
    'Ctrl-C stops everything.',
  ];
}

async function readPods(kubelet: Kubelet): Promise<readonly PodLine[]> {
  const [list, explained] = await Promise.all(
    ['/pods', '/explain'].map(async (path) => {
      const { status, text } = await kubelet.secure(path);
      if (status !== 200) throw new Error(`GET ${path} returned ${status}`);
      return parseSafeJson(text);
    }),
  );
  const { items } = list as { readonly items?: readonly Pod[] | null };
  return podLines(items ?? [], (explained as { readonly pods: readonly ExplainedPod[] }).pods);
}

async function healthOf(kubelet: Kubelet): Promise<string> {
  const { status, text } = await kubelet.healthz();
  return status === 200 ? 'healthy' : `unhealthy: ${text.trim().split('\n')[0] ?? ''}`;
}

/** Displays the pods until the signal; throws if the kubelet exits by itself. */
async function watchPods(kubelet: Kubelet, page: string, signal: AbortSignal): Promise<void> {
  const hintLines = hints(kubelet, page);
  const show = runView(kubelet.nodeName, hintLines);
  while (!signal.aborted) {
    if (!kubelet.running)
      throw new Error(`the kubelet exited:\n${kubelet.log.lines().slice(-10).join('\n')}`);
    try {
      show(await readPods(kubelet), await healthOf(kubelet));
    } catch {
      show([], 'does not answer');
    }
    await sleep(refreshMs, undefined, { signal }).catch(() => undefined);
  }
}

async function runUntil(signal: AbortSignal): Promise<void> {
  checkMachine();
  removeIncompleteClaims(runDir);
  const workspace = await takeGround();
  const rig = new Rig(workspace, { masquerade: true, registry: false });
  try {
    console.log(`starting containerd and the kubelet in ${here(runDir)}`);
    await rig.start();
    copySample();
    const port = await freePort(workspace, dashboardPort);
    const kubelet = rig.newKubelet({
      nodeName: 'local',
      flags: [`--dashboard-port=${port}`],
      manifestDir,
      ports: { healthz: 10_248, secure: 10_250 },
      ...makeAccess(),
    });
    if (!signal.aborted) await kubelet.start();
    if (!signal.aborted) await watchPods(kubelet, pageUrl(kubelet, port), signal);
  } finally {
    console.log('\nstopping');
    await rig.stop();
  }
  console.log(`stopped; the manifests are kept in ${here(manifestDir)}`);
}

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());
try {
  await runUntil(stopping.signal);
} catch (err) {
  console.error(`make run: ${err instanceof CannotRun ? err.message : String(err)}`);
  process.exitCode = 1;
}
