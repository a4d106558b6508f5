// Downloads npm packages into the cache and verifies them against their pinned hash.
// Invariant: a folder of the cache holds an unpacked package whose archive had that hash.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { NpmPackage } from './dependencies.ts';

/** The registry cannot deliver the package now. */
export class RegistryUnreachable extends Error {}

const downloadMs = 300_000;

/** The folder of the unpacked package below `cache`; downloads it if it is missing. */
export function fetchNpmPackage(cache: string, { name, version, integrity }: NpmPackage): string {
  // The hash is part of the name, so that another pin is another folder.
  const hash = createHash('sha256').update(integrity).digest('hex').slice(0, 16);
  const target = join(cache, `${name.replace('@', '').replace('/', '-')}-${version}-${hash}`);
  if (existsSync(target)) return target;
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'new-'));
  try {
    const archive = download(work, `${name}@${version}`);
    const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
    if (found !== integrity) throw new Error(`${name}@${version} has the hash ${found}, not ${integrity}`);
    execFileSync('tar', ['-xzf', archive, '-C', work, '--no-same-owner', 'package']);
    renameSync(join(work, 'package'), target);
  } catch (err) {
    // Another build may have been faster.
    if (!existsSync(target)) throw err;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return target;
}

/** `npm pack` honours the registry, the proxy and the credentials of npm's configuration. */
function download(directory: string, specifier: string): string {
  const args = ['pack', '--silent', '--ignore-scripts', '--fetch-retries=1', specifier];
  try {
    execFileSync('npm', args, { cwd: directory, timeout: downloadMs, stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (cause) {
    throw new RegistryUnreachable(`npm could not download ${specifier}`, { cause });
  }
  const archive = readdirSync(directory).find((name) => name.endsWith('.tgz'));
  if (archive === undefined) throw new RegistryUnreachable(`npm downloaded no ${specifier}`);
  return join(directory, archive);
}
