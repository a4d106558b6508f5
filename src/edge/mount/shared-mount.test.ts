// Everything here mounts, so it happens in a mount namespace of its own that ends with its process: nothing can stay
// behind. Where the machine lets nobody make one, each test checks the refusal instead.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shareMount } from './shared-mount.ts';

/** Shares the directory twice, as two kubelets one after the other, and tells what the mount table has then. */
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

interface Seen {
  readonly results: readonly unknown[];
  readonly mounts: readonly string[];
}

const host = import.meta.dirname;
const repository = join(host, '../../..');

describe('shareMount', () => {
  let script = '';
  let base = '';
  let canMount = false;
  /** What mkdtemp made, and nothing else, is deleted. */
  const made: string[] = [];

  beforeAll(async () => {
    // Beside the packages, so that the native one is found.
    const scripts = await mkdtemp(join(repository, 'node_modules', '.shared-mount-'));
    made.push(scripts);
    script = join(scripts, 'probe.mjs');
    base = await mkdtemp(join(tmpdir(), 'startup-mount-'));
    made.push(base);
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
    for (const directory of made) await rm(directory, { recursive: true });
  });

  /** `before` and `after` are shell, in the namespace, with $base and $dir. */
  async function shareIn(setup: {
    readonly before?: string;
    readonly after?: string;
    readonly shared?: boolean;
    readonly directory?: string;
    readonly wrap?: string;
  }): Promise<Seen & { readonly after: string }> {
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
    return { ...(JSON.parse(line) as Seen), after: rest.join('\n').trim() };
  }

  const cases: readonly (readonly [string, Parameters<typeof shareIn>[0], Seen])[] = [
    [
      'a plain directory is bound onto itself once',
      {},
      { results: ['bound', 'was-shared'], mounts: [' private', '/root shared'] },
    ],
    [
      'a directory on a shared mount is left alone',
      { shared: true },
      { results: ['was-shared', 'was-shared'], mounts: [' shared'] },
    ],
    [
      'a mount point that is not shared gets no second mount',
      { before: 'mount --bind "$dir" "$dir"; mount --make-private "$dir"' },
      { results: ['made-shared', 'was-shared'], mounts: [' private', '/root shared'] },
    ],
    [
      'a link is followed, the mount lies where it leads',
      { before: 'ln -s root "$base/top/link"', directory: 'link' },
      { results: ['bound', 'was-shared'], mounts: [' private', '/root shared'] },
    ],
    [
      'a directory with a blank in its name',
      { before: 'mkdir "$base/top/a b"', directory: 'a b' },
      { results: ['bound', 'was-shared'], mounts: [' private', '/a b shared'] },
    ],
    [
      'a directory that is not there',
      { directory: 'missing' },
      {
        results: Array.from({ length: 2 }, () => ({ kind: 'not-found', reason: 'ENOENT' })),
        mounts: [' private'],
      },
    ],
    [
      'without CAP_SYS_ADMIN it is refused and nothing is left',
      { wrap: 'setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin' },
      {
        results: Array.from({ length: 2 }, () => ({ kind: 'forbidden', reason: 'EPERM' })),
        mounts: [' private'],
      },
    ],
  ];
  for (const [name, setup, want] of cases) {
    test(name, async () => {
      if (!canMount) return expectRefusal();
      const { results, mounts } = await shareIn(setup);
      expect({ results, mounts }).toEqual(want);
    });
  }

  test('what is mounted below stays in sight', async () => {
    if (!canMount) return expectRefusal();
    const { after } = await shareIn({
      before: 'mkdir volume; mount -t tmpfs none volume; echo data > volume/file',
      after: 'cat "$dir/volume/file"',
    });
    expect(after).toBe('data');
  });

  test('a mount made below afterwards reaches the peers, as containers are', async () => {
    if (!canMount) return expectRefusal();
    const { after } = await shareIn({
      after: `
        mkdir "$base/top/peer"; mount --bind "$dir" "$base/top/peer"
        mkdir "$dir/volume"; mount -t tmpfs none "$dir/volume"; echo data > "$dir/volume/file"
        cat "$base/top/peer/volume/file"`,
    });
    expect(after).toBe('data');
  });

  async function expectRefusal(): Promise<void> {
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
