// Output and exit of the built command when it does not run or cannot start; it creates nothing on the machine.
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { allFlags } from '../src/config/command-line/flag-index.ts';
import { type Outcome, run } from './rig/process.ts';
import { repositoryRoot } from './rig/repository.ts';

const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

describe('the kubelet command', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'kubelet-command-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  /** Runs with a root directory that does not exist, and must not exist afterwards. */
  const kubelet = async (...args: readonly string[]): Promise<Outcome> => {
    const root = join(dir, 'root');
    const outcome = await run(
      join(repositoryRoot(), 'bin', 'kubelet'),
      [`--root-dir=${root}`, ...args],
      20_000,
    );
    expect(existsSync(root)).toBe(false);
    return outcome;
  };

  test('prints --version and --version=raw', async () => {
    expect(await kubelet('--version')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Kubernetes v1\.37\.0\+ts\.\d+\.\d+\.\d+\n$/),
      stderr: '',
    });
    expect(await kubelet('--version=raw')).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^version\.Info\{Major:"1", Minor:"37", GitVersion:"v1\.37\.0\+ts\.[\d.]+".*\}\n$/,
      ),
      stderr: '',
    });
  });

  for (const flag of ['--help', '-h'])
    test(`${flag} lists every flag`, async () => {
      const { code, stdout, stderr } = await kubelet(flag);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const listed = new Set(
        Array.from(stdout.matchAll(/^ {2}(?:-\w, | {4})--([\w-]+)/gm), ([, name]) => name),
      );
      expect(allFlags.map(({ name }) => name).filter((name) => !listed.has(name))).toEqual([]);
      expect(listed.size).toBeGreaterThan(130);
    });

  test('prints the manual page and a completion script, and refuses other arguments', async () => {
    const command = (...args: readonly string[]) =>
      run(join(repositoryRoot(), 'bin', 'kubelet'), [...args], 20_000);
    expect(await command('man')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^\.TH KUBELET 8 [^]*\\fB\\-\\-max\\-pods\\fR/),
      stderr: '',
    });
    expect(await command('completion', 'bash')).toEqual({
      code: 0,
      stdout: expect.stringContaining('complete -F _kubelet kubelet\n'),
      stderr: '',
    });
    expect(await command('completion', 'tcsh')).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^kubelet completion: "tcsh" is not one of bash, zsh, fish\n\nUsage:\n {2}kubelet completion bash\|zsh\|fish\n$/,
      ),
    });
    expect(await command('man', '--help')).toMatchObject({ code: 0, stderr: '' });
  });

  test('reports unknown flags, stray arguments and invalid values together, with suggestions', async () => {
    const { code, stdout, stderr } = await kubelet(
      '--no-such-flag',
      'stray',
      '--max_pods=many',
      '--fail-swap-on=maybe',
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.split('\n').slice(0, 5)).toEqual([
      'The kubelet cannot start because of 4 problems:',
      expect.stringContaining('unknown flag: --no-such-flag'),
      expect.stringContaining('"stray"'),
      expect.stringMatching(/--max-pods: .*"many"/),
      expect.stringMatching(/--fail-swap-on: .*"maybe"/),
    ]);
    expect(stderr).toContain('Usage:\n  kubelet [flags]\n');
    expect(stderr).toContain('kubelet --help');
  });

  test('reports every error of a configuration file with its position', async () => {
    const path = join(dir, 'config.yaml');
    writeFileSync(
      path,
      `${header}maxPods: 1\nnoSuchField: 1\nsyncFrequency: soon\nmaxPods: 2\nclusterDNS: 10.0.0.1\n`,
    );
    const { code, stdout, stderr } = await kubelet(`--config=${path}`);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    const lines = stderr.trim().split('\n');
    expect(lines[0]).toBe('The kubelet cannot start because of 4 problems:');
    expect(
      lines
        .slice(1)
        .map((line) => line.split(': ').slice(0, 2).join(' ').trim())
        .toSorted(),
    ).toEqual([
      `${path}:4 noSuchField`,
      `${path}:5 syncFrequency`,
      `${path}:6 maxPods`,
      `${path}:7 clusterDNS`,
    ]);
  });

  test('reports every value out of range with its field and flag, from a file or a flag', async () => {
    const path = join(dir, 'config.json');
    const config = {
      healthzPort: 99_999,
      featureGates: { NoSuchGate: true, NodeSwap: false },
      imageGCLowThresholdPercent: 90,
    };
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        ...config,
      }),
    );
    const { code, stderr } = await kubelet(`--config=${path}`, '--max-pods=-3', '--runonce');
    expect(code).toBe(1);
    for (const words of [
      /healthzPort \(--healthz-port\): 99999/,
      /featureGates .*NoSuchGate/,
      /imageGCLowThresholdPercent|imageGCHighThresholdPercent/,
      /maxPods \(--max-pods\): -3/,
      /runOnce \(--runonce\): .*enableServer \(--enable-server\)/,
    ])
      expect(stderr).toMatch(words);
  });

  const refusals = [
    ['a missing file', ['--config=/nowhere/config.yaml'], /\/nowhere\/config\.yaml: .*no such file/],
    [
      '--runonce together with the server',
      ['--fail-cgroupv1=false', '--runonce'],
      /--runonce\): .*--enable-server/,
    ],
    [
      '--exit-on-lock-contention alone',
      ['--fail-cgroupv1=false', '--exit-on-lock-contention'],
      /--exit-on-lock-contention.*--lock-file/,
    ],
  ] as const;
  for (const [name, args, words] of refusals)
    test(`rejects ${name} in one line`, async () => {
      const { code, stderr } = await kubelet(...args);
      expect(code).toBe(1);
      expect(stderr.trim().split('\n')).toEqual(['The kubelet cannot start:', expect.stringMatching(words)]);
      expect(readdirSync(dir)).toEqual([]);
    });
});
