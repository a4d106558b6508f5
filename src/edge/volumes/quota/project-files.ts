// Reads and changes the tables of projects in /etc. Upstream: pkg/volume/util/fsquota/project.go.
// Invariants: one change at a time, also between processes that lock the files as upstream does; each file is exchanged whole
// and keeps its mode; what is no plain file is not touched.
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

/** How long another program may hold the files. */
const patienceMs = 3_000;
const retryMs = 20;

export class ProjectFiles {
  readonly #paths: ProjectPaths;
  #last: Promise<unknown> = Promise.resolve();

  constructor(paths: ProjectPaths) {
    this.#paths = paths;
  }

  /** As they are now, without waiting for anybody; missing ones are empty. */
  async read(): Promise<ProjectTables> {
    const [projects, names] = await Promise.all([textOf(this.#paths.projects), textOf(this.#paths.names)]);
    return { projects, names };
  }

  /** Lets `edit` say what the tables are to become, while nobody else changes them. */
  change(edit: (tables: ProjectTables) => Promise<ProjectTables> | ProjectTables): Promise<void> {
    const turn = this.#last.then(async () => await this.#change(edit));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #change(edit: (tables: ProjectTables) => Promise<ProjectTables> | ProjectTables): Promise<void> {
    const { projects: projectsPath, names: namesPath } = this.#paths;
    const untilMs = performance.now() + patienceMs;
    const projectsFile = await lockedFile(projectsPath, untilMs);
    try {
      const namesFile = await lockedFile(namesPath, untilMs);
      try {
        const before = { projects: await text(projectsFile), names: await text(namesFile) };
        const after = await edit(before);
        // A name without a directory is harmless, a directory whose project has no name less so: the name is first to come.
        if (after.names !== before.names) await exchange(namesPath, namesFile, after.names);
        if (after.projects !== before.projects) await exchange(projectsPath, projectsFile, after.projects);
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

/** The lock is that of an open file, and the file may have been exchanged while we waited for it. */
async function lockedFile(path: string, untilMs: number): Promise<FileHandle> {
  const syscalls = await loadSyscalls();
  for (;;) {
    const file = await open(path, constants.O_RDONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o644);
    try {
      const opened = await file.stat();
      if (!opened.isFile())
        throw new KubeletError('invalid', 'NotAFile', `${path} is not a plain file`, { details: { path } });
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
      throw new KubeletError('timeout', 'Locked', `somebody else holds ${path}`, { details: { path } });
    await sleep(retryMs);
  }
}

async function exchange(path: string, file: FileHandle, content: string): Promise<void> {
  const { mode } = await file.stat();
  const beside = `${path}.${process.pid}`;
  // Who holds the lock is alone here: what is there was left by one that was killed.
  await rm(beside, { force: true });
  try {
    await writeFile(beside, content, { mode: mode & 0o777, flag: 'wx', flush: true });
    await rename(beside, path);
  } catch (err) {
    await rm(beside, { force: true });
    throw err;
  }
}
