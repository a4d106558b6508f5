// Reads and changes the tables of quota projects in /etc. Upstream: pkg/volume/util/fsquota/project.go.
// Invariants: one change at a time, even across processes that use upstream's lock; each file is replaced atomically and keeps
// its mode; only regular files are touched.
import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeletError } from '../../../base/errors.ts';
import { loadSyscalls } from '../../syscalls/syscalls.ts';
import { errorCode } from '../../syscalls/syscalls-errors.ts';
import type { ProjectTables } from './project-tables.ts';

export interface ProjectPaths {
  readonly projects: string;
  readonly names: string;
}

export const systemProjectPaths: ProjectPaths = { projects: '/etc/projects', names: '/etc/projid' };

/** Deadline for acquiring the locks. */
const lockTimeoutMs = 3_000;
const retryMs = 20;

export class ProjectFiles {
  readonly #paths: ProjectPaths;
  #last: Promise<unknown> = Promise.resolve();

  constructor(paths: ProjectPaths) {
    this.#paths = paths;
  }

  /** The current tables, read without the lock. Missing files are empty. */
  async read(): Promise<ProjectTables> {
    const [projects, names] = await Promise.all([textOf(this.#paths.projects), textOf(this.#paths.names)]);
    return { projects, names };
  }

  /** Replaces the tables by the result of `edit`, while holding the locks. */
  change(edit: (tables: ProjectTables) => Promise<ProjectTables> | ProjectTables): Promise<void> {
    const change = this.#last.then(async () => await this.#change(edit));
    this.#last = change.catch(() => undefined);
    return change;
  }

  async #change(edit: (tables: ProjectTables) => Promise<ProjectTables> | ProjectTables): Promise<void> {
    const { projects: projectsPath, names: namesPath } = this.#paths;
    const untilMs = performance.now() + lockTimeoutMs;
    const projectsFile = await lockedFile(projectsPath, untilMs);
    try {
      const namesFile = await lockedFile(namesPath, untilMs);
      try {
        const before = { projects: await text(projectsFile), names: await text(namesFile) };
        const after = await edit(before);
        // The name is written first: a name without a directory is harmless, a project without a name is not.
        if (after.names !== before.names) await replaceFile(namesPath, namesFile, after.names);
        if (after.projects !== before.projects) await replaceFile(projectsPath, projectsFile, after.projects);
      } finally {
        await namesFile.close();
      }
    } finally {
      await projectsFile.close();
    }
  }
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (err) {
    if (errorCode(err) === 'ENOENT') return '';
    throw err;
  }
}

async function text(file: FileHandle): Promise<string> {
  return await file.readFile('utf8');
}

/** The lock belongs to an open file, and the file may have been replaced while waiting for it. */
async function lockedFile(path: string, untilMs: number): Promise<FileHandle> {
  const syscalls = await loadSyscalls();
  for (;;) {
    const file = await open(path, constants.O_RDONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o644);
    try {
      const opened = await file.stat();
      if (!opened.isFile())
        throw new KubeletError('invalid', 'NotAFile', `${path} is not a regular file`, { details: { path } });
      if (syscalls.tryLock(file.fd)) {
        const now = await stat(path).catch(() => undefined);
        if (now?.ino === opened.ino && now.dev === opened.dev) return file;
      }
    } catch (err) {
      await file.close();
      throw err;
    }
    await file.close();
    if (performance.now() > untilMs)
      throw new KubeletError('timeout', 'Locked', `another process holds the lock of ${path}`, {
        details: { path },
      });
    await sleep(retryMs);
  }
}

async function replaceFile(path: string, file: FileHandle, content: string): Promise<void> {
  const { mode } = await file.stat();
  const temporary = `${path}.${process.pid}`;
  // The lock is held, so an existing file was left by a killed process.
  await rm(temporary, { force: true });
  try {
    await writeFile(temporary, content, { mode: mode & 0o777, flag: 'wx', flush: true });
    await rename(temporary, path);
  } catch (err) {
    await rm(temporary, { force: true });
    throw err;
  }
}
