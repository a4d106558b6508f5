// Files of the node that no pod may read or change: a secret, and a tree with various modes and owners.
// Invariant: until the inspection only an attacker opens these files, so a changed access time means that a file was
// read. All access times are set far into the past, since file systems update such times on the next read.
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** As many as in the victims' trees, so that a removal that follows a link finds the same names here. */
export const canaryFiles = 3_000;
const longAgo = new Date('2001-01-01T00:00:00Z');

export class Canary {
  readonly dir: string;
  /** The content of the file `secret` and of a log file in the same directory. */
  readonly secret = `canary-${randomBytes(16).toString('hex')}`;
  #before: readonly string[] = [];
  #known: readonly string[] = [];

  constructor(dir: string) {
    this.dir = dir;
  }

  get secretFile(): string {
    return join(this.dir, 'secret');
  }

  /** Creates the files, and replaces existing ones. */
  make(): void {
    rmSync(this.dir, { recursive: true, force: true });
    mkdirSync(join(this.dir, 'tree', 'inner'), { recursive: true });
    const time = new Date().toISOString();
    const files: readonly (readonly [string, number, number, string])[] = [
      ['secret', 0o400, 0, `${time} stdout F ${this.secret}\n`.repeat(20)],
      ['0.log', 0o600, 0, `${time} stdout F ${this.secret}\n`.repeat(20)],
      ['tree/private', 0o600, 12, this.secret],
      ['tree/program', 0o4755, 1000, this.secret],
      ['tree/inner/file', 0o640, 65534, this.secret],
    ];
    for (const [name, mode, owner, text] of files) {
      const path = join(this.dir, name);
      writeFileSync(path, text);
      chownSync(path, owner, owner);
      chmodSync(path, mode);
    }
    for (let at = 0; at < canaryFiles; at++) writeFileSync(join(this.dir, `f${at}`), '');
    symlinkSync('inner/file', join(this.dir, 'tree', 'link'));
    chmodSync(join(this.dir, 'tree'), 0o1770);
    chmodSync(this.dir, 0o711);
    for (const path of this.#paths()) lutimesSync(path, longAgo, longAgo);
    this.#before = this.#snapshot();
  }

  /** The files that were read or changed since make() or the last call. */
  faults(): readonly string[] {
    // Before anything is opened here, including directories.
    const read = this.#known.filter((path) => wasRead(path)).map((path) => `read: ${path}`);
    const now = this.#snapshot();
    const before = new Set(this.#before);
    const after = new Set(now);
    const gone = this.#before.filter((line) => !after.has(line)).map((line) => `was: ${line}`);
    const come = now.filter((line) => !before.has(line)).map((line) => `is: ${line}`);
    this.#before = now;
    return [...read, ...gone, ...come];
  }

  /** One line per entry: type, mode, owner, times and content. */
  #snapshot(): readonly string[] {
    const paths = this.#paths();
    const lines = paths.map((path) => {
      const { mode, uid, gid, size, mtimeMs, ino } = lstatSync(path);
      return [path, mode.toString(8), uid, gid, size, mtimeMs, ino, contentOf(path)].join(' ');
    });
    for (const path of paths) lutimesSync(path, longAgo, lstatSync(path).mtime);
    this.#known = paths;
    return lines;
  }

  #paths(): readonly string[] {
    const below = readdirSync(this.dir, { recursive: true, encoding: 'utf8' });
    return [this.dir, ...below.map((name) => join(this.dir, name))];
  }
}

function wasRead(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && stat.atimeMs !== longAgo.getTime();
}

function contentOf(path: string): string {
  const stat = lstatSync(path);
  if (stat.isSymbolicLink()) return readlinkSync(path);
  return stat.isFile() && stat.size > 0 ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
}
