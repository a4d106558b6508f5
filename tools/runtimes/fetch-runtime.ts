// Downloads containerd and runc of a Debian suite and unpacks them into the cache, so that the rig can run on them.
// containerd needs no more than the C library of Debian 12; runc needs a newer one, so runc is linked to the libraries of
// its suite, which are unpacked beside it. A wrapper would not do: runc executes itself again by /proc/self/exe.
// Invariant: nothing outside the cache is written; the result appears under its name only when it is complete.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type DebianPackage, fileOfRelease, type IndexedFile, packagesOf } from './debian-index.ts';
import {
  type FetchedRuntime,
  fetchedRuntime,
  type RuntimeRelease,
  releases,
  runtimeDir,
} from './releases.ts';

/** The mirror cannot deliver the runtime now; it is not broken. */
export class MirrorUnreachable extends Error {}

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const downloadMs = 180_000;
const programs = ['containerd', 'containerd-shim-runc-v2', 'ctr', 'runc'];
const libraries = ['libc6', 'libseccomp2', 'libgcc-s1', 'libstdc++6'];
const packageNames = ['containerd', 'runc', 'patchelf', ...libraries];

/** The runtime in the cache of the repository at `root`; downloads it if it is missing. */
export async function fetchRuntime(root: string, name: string): Promise<FetchedRuntime> {
  const present = fetchedRuntime(root, name);
  if (present !== undefined) return present;
  const release = releases[name];
  if (release === undefined) throw new Error(`no runtime "${name}"`);
  const dir = runtimeDir(root, name);
  mkdirSync(dirname(dir), { recursive: true });
  const work = mkdtempSync(`${dir}.`);
  try {
    const packages = await findPackages(release, work);
    const containerd = packages.get('containerd')?.version ?? '';
    if (!containerd.startsWith(release.version))
      throw new Error(`${release.suite} has containerd ${containerd}, not ${release.version}*`);
    for (const one of packages.values()) await unpack(one, work);
    return install(work, dir, packages);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function findPackages(
  release: RuntimeRelease,
  work: string,
): Promise<ReadonlyMap<string, DebianPackage>> {
  const architecture = execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim();
  const suite = `dists/${release.suite}`;
  const inRelease = verified(await download(`${suite}/InRelease`), work);
  const index = fileOfRelease(inRelease, `main/binary-${architecture}/Packages.gz`);
  if (index === undefined) throw new Error(`${release.suite} has no packages for ${architecture}`);
  const bytes = await checkedDownload({ ...index, path: `${suite}/${index.path}` });
  const packages = packagesOf(gunzipSync(bytes).toString('utf8'), packageNames);
  const missing = packageNames.filter((name) => !packages.has(name));
  if (missing.length > 0) throw new Error(`${release.suite} has no ${missing.join(', ')}`);
  return packages;
}

/** The text of a Release file that Debian has signed. */
function verified(bytes: Buffer, work: string): string {
  const file = join(work, 'InRelease');
  const text = join(work, 'Release');
  writeFileSync(file, bytes);
  try {
    execFileSync('gpgv', ['--quiet', '--keyring', keyring, '--output', text, file], { stdio: 'pipe' });
  } catch (err) {
    const why = err instanceof Error ? err.message.trim().replaceAll('\n', ' | ') : String(err);
    throw new Error(`the signature of InRelease is not valid by ${keyring}: ${why}`, { cause: err });
  }
  return readFileSync(text, 'utf8');
}

/** That of this machine's apt, unless another one is selected. */
function mirror(): string {
  const selected = process.env['DEBIAN_MIRROR'];
  if (selected !== undefined) return selected;
  const args = ['indextargets', '--format', '$(SITE)', 'Created-By: Packages', 'Component: main'];
  const sites = execFileSync('apt-get', args, { encoding: 'utf8' }).split('\n');
  const found = sites.find((site) => site.endsWith('/debian'));
  if (found === undefined)
    throw new MirrorUnreachable('apt has no Debian mirror (DEBIAN_MIRROR selects one)');
  return found;
}

async function download(path: string): Promise<Buffer> {
  const url = `${mirror()}/${path}`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(downloadMs) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (err) {
    const cause = err instanceof Error && err.cause instanceof Error ? err.cause : err;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MirrorUnreachable(`cannot download ${url}: ${why} (DEBIAN_MIRROR selects another mirror)`, {
      cause: err,
    });
  }
}

async function checkedDownload({ path, sha256 }: IndexedFile): Promise<Buffer> {
  const bytes = await download(path);
  const found = createHash('sha256').update(bytes).digest('hex');
  // A mirror that is being updated has files of two versions for a while.
  if (found !== sha256) throw new MirrorUnreachable(`${path} has the SHA256 ${found} instead of ${sha256}`);
  return bytes;
}

async function unpack(one: DebianPackage, work: string): Promise<void> {
  const file = join(work, `${one.name}.deb`);
  writeFileSync(file, await checkedDownload(one));
  execFileSync('dpkg-deb', ['--extract', file, join(work, 'root')]);
}

function install(work: string, dir: string, packages: ReadonlyMap<string, DebianPackage>): FetchedRuntime {
  const built = join(work, 'built');
  mkdirSync(join(built, 'bin'), { recursive: true });
  const root = join(work, 'root', 'usr');
  for (const name of programs)
    cpSync(join(root, name === 'runc' ? 'sbin' : 'bin', name), join(built, 'bin', name));
  const triplet = readdirSync(join(root, 'lib')).find((name) => name.endsWith('-linux-gnu')) ?? '';
  cpSync(join(root, 'lib', triplet), join(built, 'lib'), { recursive: true, verbatimSymlinks: true });
  const loader = readdirSync(join(built, 'lib')).find((name) => name.startsWith('ld-linux')) ?? '';
  // patchelf, too, runs on the libraries of its suite.
  const patchelf = ['--library-path', join(built, 'lib'), join(root, 'bin', 'patchelf')];
  const link = ['--set-interpreter', join(dir, 'lib', loader), '--set-rpath', join(dir, 'lib')];
  execFileSync(join(built, 'lib', loader), [...patchelf, ...link, join(built, 'bin', 'runc')]);
  const versions = Object.fromEntries([...packages.values()].map(({ name, version }) => [name, version]));
  const fetched: FetchedRuntime = { dir, packages: versions };
  writeFileSync(join(built, 'runtime.json'), `${JSON.stringify(fetched, null, 2)}\n`);
  rmSync(dir, { recursive: true, force: true });
  renameSync(built, dir);
  // Fails here, with the reason, instead of in the first test.
  for (const name of ['containerd', 'runc'])
    execFileSync(join(dir, 'bin', name), ['--version'], { stdio: 'pipe' });
  return fetched;
}
