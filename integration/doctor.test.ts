// kubelet doctor on a real containerd: nothing to find on a sound node, and each fault with its fix and exit code.
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { mustRun, type Outcome, run } from './rig/process.ts';
import { repositoryRoot } from './rig/repository.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { slowness, waitFor } from './rig/wait.ts';
import { type Cluster, startCluster } from './support/cluster.ts';

const nodeName = 'node1';
/** Beyond the deadline of 5 s that each fact has. */
const timeoutMs = 30_000 * slowness;
const command = join(repositoryRoot(), 'bin', 'kubelet');

interface CheckResult {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly finding: string;
  readonly fix?: string;
}

interface Diagnosis {
  readonly code: number;
  readonly check: (name: string) => CheckResult;
  readonly checks: readonly CheckResult[];
}

interface Changes {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly flags?: readonly string[];
  /** A program and its arguments that run the command. */
  readonly through?: readonly string[];
}

/** What depends on the machine that runs the tests: its cgroup version, its clock, its capabilities, its kernel. */
const machineDependent: ReadonlySet<string> = new Set([
  'bridge-netfilter',
  'cgroup-driver',
  'cgroup-version',
  'clock',
  'ip-forward',
  'machine-id',
  'resolv-conf',
  'memory-limit',
  'overlay',
  'privileges',
  'kernel-settings',
]);

const isLate = ({ finding }: CheckResult): boolean => finding.includes('did not finish within');

describeOnRig('kubelet doctor', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let baseConfig: Readonly<Record<string, unknown>>;
  let runs = 0;
  beforeAll(async () => {
    rig = await startRig({ registry: false });
    cluster = await startCluster(rig, nodeName);
    kubelet = await rig.kubelet({ nodeName, flags: [`--kubeconfig=${cluster.kubeconfig}`] });
    baseConfig = JSON.parse(readFileSync(join(kubelet.dir, 'config.json'), 'utf8')) as typeof baseConfig;
  });
  afterAll(() => rig.stop());

  /** With the settings of the running kubelet, changed. */
  function doctorArgs({ config = {}, flags = [] }: Changes, output: 'json' | 'text'): readonly string[] {
    const path = join(rig.workspace.dir, `doctor-${runs++}.json`);
    // As fields, since a flag that is deprecated is a finding.
    const own = {
      containerRuntimeEndpoint: rig.endpoint,
      staticPodPath: kubelet.manifestDir,
      // The limits of the machine's disks are not the subject here.
      evictionHard: { 'memory.available': '100Mi' },
      // Without effect on cgroup v1, which is a finding.
      featureGates: { MemoryQoS: false },
    };
    writeFileSync(path, JSON.stringify({ ...baseConfig, ...own, ...config }));
    return [
      'doctor',
      `--config=${path}`,
      `--root-dir=${kubelet.rootDir}`,
      `--cert-dir=${kubelet.certDir}`,
      `--hostname-override=${nodeName}`,
      `--kubeconfig=${cluster.kubeconfig}`,
      ...flags,
      `--output=${output}`,
    ];
  }

  function start(changes: Changes, output: 'json' | 'text'): Promise<Outcome> {
    const args = [...(changes.through ?? []), command, ...doctorArgs(changes, output)];
    return run('env', args, timeoutMs);
  }

  async function doctor(changes: Changes = {}): Promise<Diagnosis> {
    const { code, stdout, stderr } = await start(changes, 'json');
    if (!stdout.startsWith('{')) throw new Error(`no JSON: ${stdout}${stderr}`);
    const { checks } = JSON.parse(stdout) as { readonly checks: readonly CheckResult[] };
    return {
      code: code ?? -1,
      checks,
      check: (name) => {
        const found = checks.find((each) => each.name === name);
        if (found === undefined) throw new Error(`no check ${name}`);
        return found;
      },
    };
  }

  /** Repeated if the machine was too busy to find a fact within its deadline. */
  async function doctorInTime(): Promise<Diagnosis> {
    let diagnosis = await doctor();
    for (let attempt = 1; attempt < 3 && diagnosis.checks.some(isLate); attempt++) diagnosis = await doctor();
    return diagnosis;
  }

  test('finds nothing on a sound node but what depends on the machine, and its own kubelet on the ports', async () => {
    const { check, checks } = await doctorInTime();
    const found = checks.filter(({ name, status }) => status !== 'ok' && !machineDependent.has(name));
    expect(found).toEqual([]);
    expect(check('port').finding).toBe(
      `${kubelet.securePort} is served by the running kubelet (pid ${kubelet.pid})`,
    );
    expect(check('port-healthz').finding).toContain('served by the running kubelet');
    expect(check('other-kubelet').finding).toBe(
      `one kubelet runs with ${kubelet.rootDir} (pid ${kubelet.pid})`,
    );
    expect(check('runtime-version').finding).toMatch(/^containerd v?\d/);
    expect(check('api-server').finding).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/, v1\.37\./);
    expect(check('clock-skew').finding).toBe('as that of the API server');
    expect(check('client-certificate').finding).toContain('is valid for');
  });

  test('prints a line per check, its fix, and a summary', async () => {
    const { code, stdout } = await start({ config: { cgroupDriver: 'systemd' } }, 'text');
    const lines = stdout.trimEnd().split('\n');
    expect(
      lines.slice(0, -2).filter((line) => !/^(ok {3}|warn |FAIL )[a-z-]+: \S|^ {2}fix: \S/.test(line)),
    ).toEqual([]);
    expect(lines.at(-1)).toMatch(/^41 checks: \d+ ok, \d+ warnings, \d+ failed$/);
    expect(code === 0).toBe(stdout.trimEnd().endsWith(' 0 failed'));
  });

  test('changes nothing: a root directory that does not exist is not created', async () => {
    const rootDir = join(rig.workspace.dir, 'no-root');
    const { check } = await doctor({ flags: [`--root-dir=${rootDir}`, `--cert-dir=${rootDir}/pki`] });
    expect(existsSync(rootDir)).toBe(false);
    expect(check('disk-root')).toMatchObject({
      status: 'ok',
      finding: expect.stringContaining(rig.workspace.dir) as string,
    });
    expect(check('serving-certificate').finding).toBe('none yet: the kubelet creates a self-signed one');
    // The running kubelet has another root directory now.
    expect(check('port')).toMatchObject({
      status: 'fail',
      finding: expect.stringContaining(`by a kubelet with the root directory ${kubelet.rootDir}`) as string,
    });
  });

  test('a wrong endpoint, a busy port, an impossible reservation and an expired certificate', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { check, code } = await doctor({
      config: {
        containerRuntimeEndpoint: 'unix:///nonexistent/r.sock',
        healthzPort: port,
        systemReserved: { memory: '900Ti' },
      },
      flags: [`--kubeconfig=${expiredKubeconfig()}`],
    });
    expect(code).toBe(1);
    expect(check('runtime-socket')).toEqual({
      name: 'runtime-socket',
      status: 'fail',
      finding: 'unix:///nonexistent/r.sock does not exist',
      fix: 'start the runtime, such as systemctl start containerd, or set containerRuntimeEndpoint',
    });
    expect(check('runtime-version').status).toBe('fail');
    expect(check('reservations')).toMatchObject({
      status: 'fail',
      finding: expect.stringContaining('Expected capacity >= reservation') as string,
    });
    expect(check('port-healthz')).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(
        new RegExp(`^${port} is in use on 127\\.0\\.0\\.1 by .* \\(pid ${process.pid}\\)$`),
      ) as string,
      fix: 'stop it, or set healthzPort',
    });
    expect(check('client-certificate')).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(/has expired on .*, \d+ h ago$/) as string,
      fix: 'join the cluster again: --bootstrap-kubeconfig with a new token',
    });
  });

  /** That of the node, with a certificate that was valid for an hour. */
  function expiredKubeconfig(): string {
    const config = JSON.parse(readFileSync(cluster.kubeconfig, 'utf8')) as {
      users: { user: Record<string, string> }[];
    };
    const { cert, key } = cluster.authority.issue({
      commonName: `system:node:${nodeName}`,
      organizations: ['system:nodes'],
      usage: 'client',
      notBeforeMs: Date.now() - 6 * 3_600_000,
      seconds: 3600,
    });
    const data = (text: string): string => Buffer.from(text).toString('base64');
    const user = { 'client-certificate-data': data(cert), 'client-key-data': data(key) };
    const path = join(rig.workspace.dir, 'expired.kubeconfig');
    writeFileSync(
      path,
      JSON.stringify({ ...config, users: config.users.map((each) => ({ ...each, user })) }),
    );
    return path;
  }

  test('the wrong cgroup driver, which the kubelet corrects only if the runtime reports its own', async () => {
    const reports = await rig.cri.runtimeConfig({}).then(
      () => true,
      () => false,
    );
    const { check, code } = await doctor({ config: { cgroupDriver: 'systemd' } });
    expect(check('cgroup-driver')).toMatchObject({
      status: reports ? 'warn' : 'fail',
      finding: expect.stringContaining('cgroupDriver is systemd, the runtime uses cgroupfs') as string,
      fix: expect.stringContaining('set cgroupDriver: cgroupfs') as string,
    });
    if (!reports) expect(code).toBe(1);
  });

  test('swap, in a mount namespace with another table of the kernel', async () => {
    const table = join(rig.workspace.dir, 'swaps');
    writeFileSync(table, 'Filename\tType\tSize\tUsed\tPriority\n/dev/sdz9 partition 1000 0 -2\n');
    const script = 'mount --bind "$0" /proc/swaps && exec "$@"';
    const through = ['unshare', '--mount', 'sh', '-c', script, table];
    const [refused, permitted] = await Promise.all([
      doctor({ through, config: { failSwapOn: true } }),
      doctor({ through, config: { failSwapOn: false } }),
    ]);
    expect(refused.code).toBe(1);
    expect(refused.check('swap')).toMatchObject({
      status: 'fail',
      finding: 'on: /dev/sdz9; the kubelet does not start with swap',
      fix: expect.stringContaining('swapoff -a') as string,
    });
    expect(permitted.check('swap').status).not.toBe('fail');
  });

  test('a runtime, a disk and a credential plugin that hang are findings after the deadline', async () => {
    const socket = join(rig.workspace.dir, 'silent.sock');
    const silent = createServer().listen(socket);
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const programs = join(rig.workspace.dir, 'hanging-programs');
    mkdirSync(programs);
    // Only the disk of the root directory hangs.
    const hang = `case "$*" in *${kubelet.rootDir}*) exec sleep 600;; esac; exec /usr/bin/stat "$@"`;
    writeFileSync(join(programs, 'stat'), `#!/bin/sh\n${hang}\n`);
    chmodSync(join(programs, 'stat'), 0o755);
    const pidFile = join(rig.workspace.dir, 'plugin.pid');
    const [runtime, disk, plugin] = await Promise.all([
      doctor({ config: { containerRuntimeEndpoint: `unix://${socket}` } }),
      doctor({ through: ['env', `PATH=${programs}:${process.env['PATH'] ?? ''}`] }),
      doctor({ flags: [`--kubeconfig=${hangingPlugin(pidFile)}`] }),
    ]);
    expect(runtime.code).toBe(1);
    expect(runtime.check('runtime-socket').status).toBe('ok');
    expect(runtime.check('runtime-version')).toMatchObject({
      status: 'fail',
      finding: expect.stringMatching(
        /does not answer: .*(did not finish within|deadline|timed out)/i,
      ) as string,
    });
    expect(runtime.check('api-server').status).toBe('ok');
    expect(disk.code).toBe(1);
    expect(disk.check('disk-root')).toMatchObject({
      status: 'fail',
      finding: expect.stringContaining('did not finish within 5000 ms') as string,
    });
    expect(disk.check('runtime-version').status).toBe('ok');
    expect(plugin.check('api-server')).toMatchObject({
      status: 'fail',
      fix: expect.stringContaining('users[].user.exec') as string,
    });
    const pid = readFileSync(pidFile, 'utf8').trim();
    await waitFor(() => !existsSync(`/proc/${pid}`), 'the plugin to end with the command');
  });

  /** A kubeconfig whose credential plugin writes its PID and never ends. */
  function hangingPlugin(pidFile: string): string {
    const config = JSON.parse(readFileSync(cluster.kubeconfig, 'utf8')) as {
      users: { readonly name: string }[];
    };
    const command = ['sh', '-c', 'echo $$ >"$0"; exec sleep 600', pidFile];
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: command[0],
      args: command.slice(1),
      interactiveMode: 'Never',
    };
    const path = join(rig.workspace.dir, 'plugin.kubeconfig');
    writeFileSync(
      path,
      JSON.stringify({ ...config, users: config.users.map(({ name }) => ({ name, user: { exec } })) }),
    );
    return path;
  }

  test('files that never end or never answer are findings, and the command exits', async () => {
    const pipe = join(rig.workspace.dir, 'pipe');
    await mustRun('mkfifo', [pipe]);
    const [config, kubeconfig] = await Promise.all([
      run(command, ['doctor', `--config=${pipe}`], timeoutMs),
      doctor({ flags: [`--kubeconfig=${pipe}`], config: { tlsCertFile: pipe, tlsPrivateKeyFile: pipe } }),
    ]);
    expect(config.code).toBe(1);
    expect(config.stdout).toContain(`${pipe} is a fifo, not a file`);
    expect(kubeconfig.check('kubeconfig')).toMatchObject({
      status: 'fail',
      finding: `${pipe} is a fifo, not a file`,
    });
    expect(kubeconfig.check('serving-certificate').status).toBe('fail');
    expect(kubeconfig.check('runtime-ready').status).toBe('ok');
  });

  test('wrong settings are findings, wrong arguments are usage', async () => {
    const wrong = await doctor({ config: { maxPods: -1 } });
    expect(wrong.code).toBe(1);
    expect(wrong.checks).toEqual([
      expect.objectContaining({
        name: 'settings',
        status: 'fail',
        finding: expect.stringContaining('maxPods') as string,
      }),
    ]);
    const outcomes = await Promise.all([
      run(command, ['doctor', '--no-such-flag'], timeoutMs),
      run(command, ['doctor', '--output', 'yaml'], timeoutMs),
    ]);
    expect(outcomes.map(({ code, stderr, stdout }) => [code, stdout, stderr.split('\n')[0]])).toEqual([
      [2, '', 'kubelet doctor: unknown flag: --no-such-flag'],
      [2, '', 'kubelet doctor: --output is text or json, not "yaml"'],
    ]);
  });
});
