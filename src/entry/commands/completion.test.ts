// The completion scripts in real shells. A shell that is not installed is skipped by name.
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completionScript } from '../../config/completion/completion.ts';

const exec = promisify(execFile);
let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'completion-'));
  for (const shell of ['bash', 'zsh', 'fish']) writeFileSync(join(dir, shell), completionScript(shell) ?? '');
  mkdirSync(join(dir, 'files', 'inner'), { recursive: true });
  writeFileSync(join(dir, 'files', 'one file.yaml'), '');
});
afterAll(() => rmSync(dir, { recursive: true }));

function isInstalled(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!isInstalled('bash'))('bash (skipped without bash)', () => {
  /** `line` is what is typed up to the cursor, split as bash splits it at blanks and word breaks. */
  async function complete(line: string, wordBreaks = ' =:'): Promise<readonly string[]> {
    const words = wordBreaks.includes('=')
      ? line
          .split(' ')
          .flatMap((word) => word.split(/([=:]+)/).filter((piece, at) => piece !== '' || at === 0))
      : line.split(' ');
    const script = `
      COMP_WORDBREAKS=$1
      source "$2"
      shift 2
      COMP_WORDS=("$@")
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
      _kubelet
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const args = ['--norc', '-c', script, 'bash', wordBreaks, join(dir, 'bash'), ...words];
    const { stderr, stdout } = await exec('bash', args, { cwd: join(dir, 'files') });
    expect(stderr).toBe('');
    return stdout.split('\n').filter((word) => word !== '');
  }

  const cases: readonly (readonly [line: string, candidates: readonly string[]])[] = [
    ['kubelet c', ['completion']],
    ['kubelet completion ', ['bash', 'zsh', 'fish', '--help']],
    ['kubelet completion bash ', []],
    ['kubelet doc', ['doctor']],
    ['kubelet doctor --outp', ['--output=']],
    ['kubelet doctor --output=', ['text', 'json']],
    ['kubelet doctor --output j', ['json']],
    ['kubelet doctor --topology-manager-scope=p', ['pod']],
    ['kubelet --outp', []],
    ['kubelet ps --outp', ['--output=']],
    ['kubelet ps --output=', ['text', 'wide', 'json']],
    ['kubelet top --output=', ['text', 'json']],
    ['kubelet ps --root-dir=', ['inner']],
    ['kubelet ps --root-dir ', ['inner']],
    ['kubelet ps --config', []],
    ['kubelet logs web --fol', ['--follow']],
    ['kubelet logs --ta', ['--tail=']],
    ['kubelet logs --tail=', []],
    ['kubelet explain --token-file=o', ['one file.yaml']],
    ['kubelet --cpu-manager-p', ['--cpu-manager-policy=', '--cpu-manager-policy-options=']],
    ['kubelet --v=4 --enable-ser', ['--enable-server']],
    ['kubelet --enable-server=', ['true', 'false']],
    ['kubelet --enable-server=f', ['false']],
    ['kubelet --enable-server --register-nod', ['--register-node']],
    ['kubelet --topology-manager-scope=', ['container', 'pod']],
    ['kubelet --topology-manager-scope p', ['pod']],
    ['kubelet --topology_manager_scope p', ['pod']],
    ['kubelet --feature-gates=GracefulNodeShutdownBased', ['GracefulNodeShutdownBasedOnPodPriority=']],
    ['kubelet --feature-gates=AllAlpha=t', ['true']],
    ['kubelet --feature-gates AllAlpha=', ['true', 'false']],
    ['kubelet --feature-gates=AllAlpha=true,AllB', ['true,AllBeta=']],
    ['kubelet --feature-gates=AllAlpha=true,AllBeta=f', ['false']],
    [
      'kubelet --enforce-node-allocatable=pods,kube',
      ['pods,kube-reserved', 'pods,kube-reserved-compressible'],
    ],
    ['kubelet --config=o', ['one file.yaml']],
    ['kubelet --config ', ['inner', 'one file.yaml']],
    ['kubelet --root-dir=', ['inner']],
    ['kubelet --max-pods=', []],
    ['kubelet --no-such-flag=', []],
  ];
  for (const [line, candidates] of cases)
    test(`"${line}"`, async () =>
      expect([...(await complete(line))].toSorted()).toEqual([...candidates].toSorted()));

  test('offers whole words where = breaks no words', async () => {
    expect(await complete('kubelet --enable-server=f', ' ')).toEqual(['--enable-server=false']);
    expect(await complete('kubelet --feature-gates=AllAlpha=true,AllB', ' ')).toEqual([
      '--feature-gates=AllAlpha=true,AllBeta=',
    ]);
  });

  test('registers the completion', async () => {
    const { stdout } = await exec('bash', [
      '--norc',
      '-c',
      'source "$1"; complete -p kubelet',
      'bash',
      join(dir, 'bash'),
    ]);
    expect(stdout).toBe('complete -F _kubelet kubelet\n');
  });
});

for (const shell of ['zsh', 'fish'])
  test.skipIf(!isInstalled(shell))(`${shell} accepts its script (skipped without ${shell})`, async () => {
    expect(await exec(shell, ['-n', join(dir, shell)])).toEqual({ stdout: '', stderr: '' });
  });
