import { describe, expect, test } from 'vitest';
import { memoryFiles } from '../fixtures/memory-files.ts';
import { kubeletVersion } from '../version.ts';
import { loadCommandLine } from './load-command-line.ts';
import { parseArgs } from './parse-args.ts';

function uses(...argv: readonly string[]): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries([...parseArgs(argv).uses].map(([entry, texts]) => [entry.name, texts]));
}

function problemsOf(...argv: readonly string[]): readonly string[] {
  return parseArgs(argv).problems.map(({ message }) => message);
}

describe('accepted syntax', () => {
  const cases: readonly (readonly [
    argv: readonly string[],
    uses: Readonly<Record<string, readonly string[]>>,
  ])[] = [
    [['--max-pods=5'], { 'max-pods': ['5'] }],
    [['--max-pods', '5'], { 'max-pods': ['5'] }],
    [['--max_pods=5'], { 'max-pods': ['5'] }],
    [['--max-pods', '-5'], { 'max-pods': ['-5'] }],
    [['--max-pods='], { 'max-pods': [''] }],
    [['--config', '--kubeconfig'], { config: ['--kubeconfig'] }],
    [['--node-labels=a=b=c'], { 'node-labels': ['a=b=c'] }],
    [['--enable-server'], { 'enable-server': ['true'] }],
    [['--enable-server=false'], { 'enable-server': ['false'] }],
    [['--v=4'], { v: ['4'] }],
    [['-v=4'], { v: ['4'] }],
    [['-v', '4'], { v: ['4'] }],
    [['-v4'], { v: ['4'] }],
    [['-hv4'], { help: ['true'], v: ['4'] }],
    [['-h=false'], { help: ['false'] }],
    [['--version'], { version: ['true'] }],
    [['--version=raw'], { version: ['raw'] }],
    [['--node-labels=a=b', '--v=1', '--node-labels', 'c=d'], { 'node-labels': ['a=b', 'c=d'], v: ['1'] }],
    [['--config=', '--'], { config: [''] }],
  ];
  for (const [argv, expected] of cases) {
    test(argv.join(' '), () => {
      expect([uses(...argv), problemsOf(...argv)]).toEqual([expected, []]);
    });
  }
});

describe('problems', () => {
  const cases: readonly (readonly [argv: readonly string[], messages: readonly string[]])[] = [
    [['--nope'], ['unknown flag: --nope']],
    [
      ['--nope=1', 'word'],
      ['unknown flag: --nope', 'unknown command "word": the kubelet takes flags only'],
    ],
    [['--enable-server', 'false'], ['unknown command "false": the kubelet takes flags only']],
    [['--max-pods'], ['flag needs an argument: --max-pods']],
    [['-v'], ["flag needs an argument: 'v' in -v"]],
    [['-x'], ["unknown shorthand flag: 'x' in -x"]],
    [['---a'], ['bad flag syntax: ---a']],
    [['--=a'], ['bad flag syntax: --=a']],
    [['-'], ['unknown command "-": the kubelet takes flags only']],
    [['--', '--max-pods=1'], ['unknown command "--max-pods=1": the kubelet takes flags only']],
  ];
  for (const [argv, expected] of cases)
    test(argv.join(' '), () => expect(problemsOf(...argv)).toEqual(expected));
});

test('warns once about a deprecated flag, and about a removed one, whose value it consumes', () => {
  const {
    warnings,
    uses: used,
    problems,
  } = parseArgs([
    '--max-pods=1',
    '--max-pods=2',
    '--api-servers',
    '0',
    '--api_servers=1',
    '--allow-privileged',
    '--network-plugin=cni',
  ]);
  expect(problems).toEqual([]);
  expect([...used.values()]).toEqual([['1', '2']]);
  expect(warnings).toEqual([
    'Flag --max-pods has been deprecated. Set maxPods in the configuration file (--config).',
    'Flag --api-servers was removed from the kubelet and is ignored. Use --kubeconfig.',
    'Flag --allow-privileged was removed from the kubelet and is ignored. Use pod security admission.',
    'Flag --network-plugin was removed from the kubelet and is ignored. Network plugins are configured in the container runtime.',
  ]);
});

test('understands the former name of a flag, and warns once with the new one', () => {
  const { problems, uses: used, warnings } = parseArgs(['--cadvisor-port', '4194', '--cadvisor_port=4195']);
  expect(problems).toEqual([]);
  expect([...used].map(([{ name }, texts]) => [name, texts])).toEqual([['dashboard-port', ['4194', '4195']]]);
  expect(warnings).toEqual(['Flag --cadvisor-port has been deprecated. Use --dashboard-port, its new name.']);
});

describe('outcomes', () => {
  const load = (...argv: readonly string[]) => loadCommandLine({ argv, files: memoryFiles({}) });

  test('--version prints the version and reads no file', async () => {
    expect(await load('--version', '--config=/absent')).toEqual({
      kind: 'print',
      text: `Kubernetes ${kubeletVersion}\n`,
      exitCode: 0,
    });
  });

  test('--version=raw prints the struct, --version=v… sets the reported version', async () => {
    expect(await load('--version=raw')).toMatchObject({
      text: expect.stringContaining(`GitVersion:"${kubeletVersion}"`) as string,
    });
    expect(await load('--version=v1.37.0-mine.1')).toMatchObject({
      kind: 'run',
      version: 'v1.37.0-mine.1',
    });
    expect(await load('--version=v1.33.0')).toMatchObject({ kind: 'error' });
    expect(await load('--version=false')).toMatchObject({ kind: 'run', version: kubeletVersion });
  });

  test('-h prints help', async () => {
    expect(await load('-h')).toMatchObject({
      kind: 'print',
      text: expect.stringContaining('--max-pods') as string,
    });
  });

  test('reports all problems of flags together, with usage', async () => {
    expect(await load('--max-pods=many', '--address=here', 'go', '--sync-frequency=1', '--v=-1')).toEqual({
      kind: 'error',
      exitCode: 1,
      problems: expect.any(Array) as unknown,
      text: `The kubelet cannot start because of 5 problems:
  unknown command "go": the kubelet takes flags only
  --max-pods: invalid value "many": must be an integer
  --address: invalid value "here": must be an IP address
  --sync-frequency: invalid value "1": must be a duration such as 300ms, 10s or 2h45m
  --v: invalid value "-1": must be a number from 0 to 2147483647

Usage:
  kubelet [flags]

Run "kubelet --help" for a list of all flags.
`,
    });
  });

  test('does not print the value of a header', async () => {
    const outcome = await load('--manifest-url-header=secret-token');
    expect(outcome).toMatchObject({ kind: 'error' });
    expect(JSON.stringify(outcome)).not.toContain('secret-token');
  });
});
