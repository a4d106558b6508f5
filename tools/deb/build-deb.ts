// Builds the Debian package from the bundle in dist/kubelet. Reference: deb(5), https://reproducible-builds.org.
// Invariant: the same sources and SOURCE_DATE_EPOCH give the same bytes, whatever the machine, its umask and its time zone.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Architecture, controlFile, debianChangelog, packageName, packageVersion } from './control.ts';
import { koffiBinaryPackage, nodePackage, type PackageLock, runtimeDependencies } from './dependencies.ts';
import { copyrightFile, leadingComment } from './licenses.ts';
import { fetchNpmPackage } from './npm-package.ts';
import {
  configurationFiles,
  documentation,
  emptyDirectories,
  filesBelow,
  type PackageFile,
  programFiles,
} from './package-files.ts';

interface DebOptions {
  /** The repository, with the built bundle. */
  readonly root: string;
  readonly architecture: Architecture;
  readonly revision: string;
  /** The directory of the package. */
  readonly out: string;
  /** Of everything in the package, in seconds. */
  readonly sourceDateEpoch: number;
  /** Fast compression is for tests: such a package is a third larger, and dpkg of Debian 11 cannot read it. */
  readonly isFast: boolean;
}

/** Returns the path of the package. */
export function buildDeb(options: DebOptions): string {
  const { architecture, out, revision, root } = options;
  if (!existsSync(join(root, 'dist/kubelet/main.mjs')))
    throw new Error("dist/kubelet is missing, run 'make build'");
  const version = packageVersion(revision);
  const stage = mkdtempSync(join(tmpdir(), 'deb-'));
  try {
    for (const file of packageFiles(options)) writePackageFile(stage, file);
    for (const path of emptyDirectories) mkdirSync(join(stage, path), { recursive: true });
    writeControl(stage, { root, architecture, version });
    normalize(stage, options.sourceDateEpoch);
    mkdirSync(out, { recursive: true });
    const deb = join(out, `${packageName}_${version}_${architecture}.deb`);
    runDpkgDeb(stage, deb, options);
    return deb;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function readLock(root: string): PackageLock {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as PackageLock;
}

/** The folders of the pinned npm packages, downloaded if they are missing. */
export function fetchBinaries(
  root: string,
  architecture: Architecture,
): { readonly node: string; readonly koffiBinary: string } {
  const cache = join(root, '.cache/npm');
  return {
    node: fetchNpmPackage(cache, nodePackage(architecture)),
    koffiBinary: fetchNpmPackage(cache, koffiBinaryPackage(readLock(root), architecture)),
  };
}

function packageFiles({ architecture, revision, root, sourceDateEpoch }: DebOptions): readonly PackageFile[] {
  const binaries = fetchBinaries(root, architecture);
  return [
    ...programFiles({ root, architecture, ...binaries }),
    ...generatedFiles(root, sourceDateEpoch),
    { path: `${documentation}/copyright`, source: { text: licenses(root) } },
    { path: `${documentation}/LICENSE.nodejs.gz`, source: { text: gzip(join(binaries.node, 'LICENSE')) } },
    { path: `${documentation}/changelog.gz`, source: { text: gzip(join(root, 'CHANGELOG.md')) } },
    {
      path: `${documentation}/changelog.Debian.gz`,
      source: { text: gzipSync(debianChangelog(packageVersion(revision), sourceDateEpoch), { level: 9 }) },
    },
  ];
}

function gzip(file: string): Uint8Array {
  return gzipSync(readFileSync(file), { level: 9 });
}

/** The manual page and the completions, printed by the bundle. */
function generatedFiles(root: string, sourceDateEpoch: number): readonly PackageFile[] {
  const print = (...args: readonly string[]): string =>
    execFileSync(process.execPath, [join(root, 'dist/kubelet/main.mjs'), ...args], {
      encoding: 'utf8',
      maxBuffer: 16 * 1024 * 1024,
      // The date of the manual page.
      env: { ...process.env, SOURCE_DATE_EPOCH: String(sourceDateEpoch) },
    });
  const completions = {
    bash: 'bash-completion/completions/kubelet',
    zsh: 'zsh/vendor-completions/_kubelet',
    fish: 'fish/vendor_completions.d/kubelet.fish',
  };
  return [
    {
      path: 'usr/share/man/man8/kubelet.8.gz',
      source: { text: gzipSync(print('man'), { level: 9 }) },
    },
    ...Object.entries(completions).map(([shell, path]) => ({
      path: `usr/share/${path}`,
      source: { text: print('completion', shell) },
    })),
  ];
}

function licenses(root: string): string {
  const packages = runtimeDependencies(readLock(root)).map((dependency) => {
    const directory = join(root, 'node_modules', dependency.name);
    const name = readdirSync(directory).find((name) => /^licen[cs]e/i.test(name));
    // The one package without a licence file: Apache-2.0, but for a file of Google with its licence at its beginning.
    const google = join(directory, 'dist/esm/wire/varint.js');
    if (name !== undefined) return { ...dependency, text: readFileSync(join(directory, name), 'utf8') };
    return {
      ...dependency,
      text: existsSync(google) ? leadingComment(readFileSync(google, 'utf8')) : undefined,
    };
  });
  return copyrightFile(packages);
}

function writePackageFile(stage: string, { path, source, executable = false }: PackageFile): void {
  const target = join(stage, path);
  mkdirSync(dirname(target), { recursive: true });
  if ('file' in source) copyFileSync(source.file, target);
  else writeFileSync(target, source.text);
  chmodSync(target, executable ? 0o755 : 0o644);
}

interface ControlInput {
  readonly root: string;
  readonly architecture: Architecture;
  readonly version: string;
}

function writeControl(stage: string, { root, architecture, version }: ControlInput): void {
  const files = filesBelow(stage);
  // As dpkg-gencontrol counts: whole KiB for each file and directory.
  const paths = readdirSync(stage, { recursive: true, encoding: 'utf8' });
  const installedKiB = paths.reduce((sum, path) => {
    const stat = statSync(join(stage, path));
    return sum + (stat.isDirectory() ? 1 : Math.ceil(stat.size / 1024));
  }, 0);
  const md5 = (path: string): string =>
    createHash('md5')
      .update(readFileSync(join(stage, path)))
      .digest('hex');
  const isConfiguration = (path: string): boolean => configurationFiles.includes(`/${path}`);
  const texts = {
    control: controlFile({ architecture, version, installedKiB }),
    conffiles: configurationFiles.map((path) => `${path}\n`).join(''),
    md5sums: files
      .filter((path) => !isConfiguration(path))
      .map((path) => `${md5(path)}  ${path}\n`)
      .join(''),
  };
  for (const [name, text] of Object.entries(texts))
    writePackageFile(stage, { path: `DEBIAN/${name}`, source: { text } });
  for (const name of ['postinst', 'prerm', 'postrm']) {
    const file = join(root, 'tools/deb/scripts', name);
    writePackageFile(stage, { path: `DEBIAN/${name}`, source: { file }, executable: true });
  }
}

/** Removes what differs between machines: the umask in the modes of directories, and times. */
function normalize(stage: string, seconds: number): void {
  for (const path of ['', ...readdirSync(stage, { recursive: true, encoding: 'utf8' })]) {
    const target = join(stage, path);
    if (statSync(target).isDirectory()) chmodSync(target, 0o755);
    lutimesSync(target, seconds, seconds);
  }
}

function runDpkgDeb(stage: string, deb: string, { isFast, sourceDateEpoch }: DebOptions): void {
  const compression = isFast ? ['-Zzstd', '-z1'] : ['-Zxz', '-z6'];
  // With a single thread, the compressors write other bytes than with several.
  const args = ['--build', '--root-owner-group', '--threads-max=2', ...compression, stage, deb];
  execFileSync('dpkg-deb', args, {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(sourceDateEpoch) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
