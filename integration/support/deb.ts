// Debian packages under test: this project's, built by its command, and small ones in place of those of pkgs.k8s.io.
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { fetchBinaries } from '../../tools/deb/build-deb.ts';
import { RegistryUnreachable } from '../../tools/deb/npm-package.ts';
import { findProgram, rigUnavailableReason } from '../rig/prerequisites.ts';
import { repositoryRoot } from '../rig/repository.ts';

const buildMs = 300_000;

export interface BuiltDeb {
  readonly file: string;
  readonly version: string;
}

/** Runs `make deb` with fast compression into a directory. `shell` precedes the command, such as `umask 077;`. */
export async function buildDeb(
  out: string,
  { revision = 1, shell = '' }: { readonly revision?: number; readonly shell?: string } = {},
): Promise<BuiltDeb> {
  const command = `${shell} exec node tools/run-ts.mjs tools/deb.ts --fast --out="$0" --revision=${revision}`;
  const options = { cwd: repositoryRoot(), timeout: buildMs };
  const { stdout } = await promisify(execFile)('sh', ['-c', command, out], options);
  const file = stdout.trim();
  return { file, version: /_(.*)_/.exec(file)?.[1] ?? '' };
}

/** Undefined if the package can be built and installed here. Downloads what the package contains. */
export function debUnavailableReason(): string | undefined {
  const why = rigUnavailableReason();
  if (why !== undefined) return why;
  if (findProgram('dpkg-deb') === undefined) return 'dpkg-deb not found';
  try {
    execFileSync('unshare', ['--mount', 'sh', '-c', tryOverlay], { stdio: 'ignore' });
  } catch {
    return 'an overlay over /usr cannot be mounted';
  }
  try {
    fetchBinaries(repositoryRoot(), process.arch === 'arm64' ? 'arm64' : 'amd64');
    return undefined;
  } catch (err) {
    if (err instanceof RegistryUnreachable) return err.message;
    throw err;
  }
}

const tryOverlay = `set -e; mount -t tmpfs tmpfs /run; mkdir /run/upper /run/work
mount -t overlay -o lowerdir=/usr,upperdir=/run/upper,workdir=/run/work overlay /usr`;

interface SmallDeb {
  readonly name: string;
  readonly version: string;
  /** More lines of the control file. */
  readonly control?: readonly string[];
  /** By path; those below /etc are configuration files, those below /usr/bin programs. */
  readonly files: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

/** Builds a package of a few files below `directory`. Returns its path. */
export async function buildSmallDeb(directory: string, deb: SmallDeb): Promise<string> {
  const { name, version, control = [], files, scripts = {} } = deb;
  const stage = join(directory, `${name}-stage`);
  const write = (path: string, text: string, mode: number): void => {
    mkdirSync(dirname(join(stage, path)), { recursive: true });
    writeFileSync(join(stage, path), text);
    chmodSync(join(stage, path), mode);
  };
  for (const [path, text] of Object.entries(files))
    write(path, text, path.startsWith('/usr/bin') ? 0o755 : 0o644);
  const head = [
    `Package: ${name}`,
    `Version: ${version}`,
    'Architecture: all',
    'Maintainer: test <test@test.invalid>',
  ];
  write('DEBIAN/control', [...head, ...control, 'Description: test', ''].join('\n'), 0o644);
  const conffiles = Object.keys(files).filter((path) => path.startsWith('/etc'));
  write('DEBIAN/conffiles', conffiles.map((path) => `${path}\n`).join(''), 0o644);
  for (const [script, text] of Object.entries(scripts)) write(`DEBIAN/${script}`, text, 0o755);
  const file = join(directory, `${name}_${version}.deb`);
  await promisify(execFile)('dpkg-deb', ['--build', '--root-owner-group', '-Znone', stage, file]);
  return file;
}
