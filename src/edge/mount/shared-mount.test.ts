// All tests mount inside a separate mount namespace that ends with its process, so that nothing is left behind. Where the
// machine does not permit one, each test checks that the call is rejected.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shareMount } from './shared-mount.ts';

/** Shares the directory twice, as two kubelets in succession would, and prints the mount table. */
const probe = `
  import { shareMount } from './shared-mount.ts';
  import { readMountTable } from './mount-table.ts';
  const directory = process.argv[2];
  const base = process.argv[3];
  const attempt = () => shareMount(directory).catch((err) => ({ kind: err.kind, reason: err.reason }));
  const results = [await attempt(), await attempt()];
  const mounts = (await readMountTable())
    .filter(({ mountPoint }) => mountPoint.startsWith(base))
    .map(({ mountPoint, isShared }) => mountPoint.slice(base.length) + (isShared ? ' shared' : ' private'));
  console.log(JSON.stringify({ results, mounts }));
`;

interface ProbeOutput {
  readonly results: readonly unknown[];
  readonly mounts: readonly string[];
}

const host = import.meta.dirname;
const repository = join(host, '../../..');

describe('shareMount', () => {
  let script = '';
  let base = '';
  let canMount = false;
  /** Created by mkdtemp; only these are deleted. */
  const temporary: string[] = [];

  beforeAll(async () => {
    // Inside node_modules, so that the native package resolves.
    const scripts = await mkdtemp(join(repository, 'node_modules', '.shared-mount-'));
    temporary.push(scripts);
    script = join(scripts, 'probe.mjs');
    base = await mkdtemp(join(tmpdir(), 'startup-mount-'));
    temporary.push(base);
    await build({
      stdin: { contents: probe, resolveDir: host, loader: 'ts' },
      outfile: script,
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      logLevel: 'error',
    });
    canMount = (await run('unshare', ['-m', 'true'])).code === 0;
  });
  afterAll(async () => {
    for (const directory of temporary) await rm(directory, { recursive: true });
  });

  /** `before` and `after` are shell, in the namespace, with $base and $dir. */
  async function shareIn(setup: {
    readonly before?: string;
    readonly after?: string;
    readonly shared?: boolean;
    readonly directory?: string;
    readonly wrap?: string;
  }): Promise<ProbeOutput & { readonly after: string }> {
    const { before = '', after = '', shared = false, directory = 'root', wrap = '' } = setup;
    const shell = [
      'set -e; mkdir -p "$base/top"; mount -t tmpfs none "$base/top"',
      `mount --make-${shared ? 'shared' : 'private'} "$base/top"`,
      'dir="$base/top/root"; mkdir -p "$dir"; cd "$dir"',
      before,
      `${wrap} node "$script" "$base/top/${directory}" "$base/top"`,
      after,
    ].join('\n');
    const env = { ...process.env, base, script };
    const { code, output, errors } = await run(
      'unshare',
      ['-m', '--propagation', 'private', 'sh', '-c', shell],
      env,
    );
    expect(errors).toBe('');
    expect(code).toBe(0);
    const [line = '', ...rest] = output.split('\n');
    return { ...(JSON.parse(line) as ProbeOutput), after: rest.join('\n').trim() };
  }

  const cases: readonly (readonly [string, Parameters<typeof shareIn>[0], ProbeOutput])[] = [
    [
      'bind-mounts a plain directory onto itself once',
      {},
      { results: ['bound', 'already-shared'], mounts: [' private', '/root shared'] },
    ],
    [
      'leaves a directory on a shared mount alone',
      { shared: true },
      { results: ['already-shared', 'already-shared'], mounts: [' shared'] },
    ],
    [
      'does not stack a second mount on a private mount point',
      { before: 'mount --bind "$dir" "$dir"; mount --make-private "$dir"' },
      { results: ['propagation-changed', 'already-shared'], mounts: [' private', '/root shared'] },
    ],
    [
      'follows a link and mounts its target',
      { before: 'ln -s root "$base/top/link"', directory: 'link' },
      { results: ['bound', 'already-shared'], mounts: [' private', '/root shared'] },
    ],
    [
      'handles a space in the name',
      { before: 'mkdir "$base/top/a b"', directory: 'a b' },
      { results: ['bound', 'already-shared'], mounts: [' private', '/a b shared'] },
    ],
    [
      'rejects a missing directory',
      { directory: 'missing' },
      {
        results: Array.from({ length: 2 }, () => ({ kind: 'not-found', reason: 'ENOENT' })),
        mounts: [' private'],
      },
    ],
    [
      'is rejected without CAP_SYS_ADMIN and leaves nothing behind',
      { wrap: 'setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin' },
      {
        results: Array.from({ length: 2 }, () => ({ kind: 'forbidden', reason: 'EPERM' })),
        mounts: [' private'],
      },
    ],
  ];
  for (const [name, setup, want] of cases) {
    test(name, async () => {
      if (!canMount) return expectRejection();
      const { results, mounts } = await shareIn(setup);
      expect({ results, mounts }).toEqual(want);
    });
  }

  test('keeps existing mounts below the directory visible', async () => {
    if (!canMount) return expectRejection();
    const { after } = await shareIn({
      before: 'mkdir volume; mount -t tmpfs none volume; echo data > volume/file',
      after: 'cat "$dir/volume/file"',
    });
    expect(after).toBe('data');
  });

  test('propagates later mounts to peers, such as containers', async () => {
    if (!canMount) return expectRejection();
    const { after } = await shareIn({
      after: `
        mkdir "$base/top/peer"; mount --bind "$dir" "$base/top/peer"
        mkdir "$dir/volume"; mount -t tmpfs none "$dir/volume"; echo data > "$dir/volume/file"
        cat "$base/top/peer/volume/file"`,
    });
    expect(after).toBe('data');
  });

  async function expectRejection(): Promise<void> {
    await expect(shareMount(base)).rejects.toMatchObject({ kind: 'forbidden' });
  }
});

async function run(command: string, args: readonly string[], env = process.env) {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output, errors };
}
