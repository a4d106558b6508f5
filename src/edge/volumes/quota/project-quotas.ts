// Lets the file system count what volumes hold, each by a project of its own, so that nobody has to walk them.
// Upstream: pkg/volume/util/fsquota, there by xfs_quota and lsattr, here by the kernel itself; the tables in /etc are the same.
// Invariants: it only counts, nothing is limited; a directory that is somebody else's project stays that; an ID that anything on
// the file system still has is given to nobody; a table never names a directory longer than it is there.
// differs from upstream: a volume that already holds something is not put into a project afterwards, it is walked. To change
// entries one by one while containers exchange them for links is what xfs_quota does, and no file there is worth that.
import { constants } from 'node:fs';
import { type FileHandle, open, opendir } from 'node:fs/promises';
import type { DiskUsage } from '../../../api/ports/volume-host.ts';
import { KubeletError } from '../../../base/errors.ts';
import { errorCode } from '../../syscalls/syscalls-errors.ts';
import { ProjectFiles, type ProjectPaths } from './project-files.ts';
import {
  addProject,
  firstProject,
  listedProjects,
  type ProjectTables,
  projectOfDirectory,
  removeDirectory,
} from './project-tables.ts';
import { loadQuotaSyscalls, type QuotaSyscalls } from './quota-syscalls.ts';

interface ProjectQuotasDeps {
  readonly paths: ProjectPaths;
  /** Volumes lie below it. */
  readonly podsDir: string;
  /** Others in tests. */
  readonly syscalls?: () => Promise<QuotaSyscalls>;
}

/** Of IDs that no table lists, so many may be in use on the file system before the search is given up. */
const mostInUse = 128;

export class ProjectQuotas {
  readonly #files: ProjectFiles;
  readonly #podsDir: string;
  readonly #load: () => Promise<QuotaSyscalls>;
  readonly #projects = new Map<string, number>();
  #syscalls: Promise<QuotaSyscalls> | undefined;
  /** Whether a table may name a volume of ours; unknown until it was read. */
  #mayBeListed: boolean | undefined;

  constructor({ paths, podsDir, syscalls = loadQuotaSyscalls }: ProjectQuotasDeps) {
    this.#files = new ProjectFiles(paths);
    this.#podsDir = podsDir;
    this.#load = syscalls;
  }

  /** From now on the file system counts what the directory holds. False when it cannot, or may not. */
  async count(path: string): Promise<boolean> {
    return await inDirectory(path, async (fd) => {
      const calls = await this.#calls();
      if (!(await calls.isCounting(fd))) return false;
      const current = await calls.projectOf(fd);
      const project = current === 0 ? await this.#begin(path, fd) : await this.#listedAs(path, current);
      if (project === undefined) return false;
      this.#projects.set(path, project);
      return true;
    });
  }

  /** Before the directory is removed; from what is on disk alone, nothing there is fine. */
  async end(path: string): Promise<void> {
    this.#projects.delete(path);
    if (!(await this.#isListed(path))) return;
    await inDirectory(path, async (fd) => {
      const calls = await this.#calls();
      const project = await calls.projectOf(fd);
      // Upstream's kubelet sets limits, as high as there are, to make its tool speak of a project.
      if (project === projectOfDirectory(await this.#files.read(), path))
        await calls.clearLimits(fd, project);
    }).catch((err: unknown) => {
      if (!isGone(err)) throw err;
    });
    await this.#files.change((tables) => removeDirectory(tables, path));
  }

  /** Undefined for what is not counted, or cannot be told: whoever asks has to walk, and finds out why. */
  async usage(path: string): Promise<DiskUsage | undefined> {
    const project = this.#projects.get(path);
    if (project === undefined) return undefined;
    try {
      return await inDirectory(path, async (fd) => {
        const counted = await (await this.#calls()).counted(fd, project);
        return { ...counted, source: 'fsquota' };
      });
    } catch {
      return undefined;
    }
  }

  /** A directory without a project gets one: what the table says, where somebody was cut off in here, or a new one. */
  async #begin(path: string, fd: number): Promise<number | undefined> {
    if (!(await isEmpty(path))) return undefined;
    const calls = await this.#calls();
    let project: number | undefined;
    this.#mayBeListed = true;
    await this.#files.change(async (tables) => {
      project = projectOfDirectory(tables, path);
      if (project !== undefined) return tables;
      project = await freeProject(calls, fd, tables);
      return addProject(tables, path, project);
    });
    if (project !== undefined) await calls.setProject(fd, project);
    return project;
  }

  async #listedAs(path: string, project: number): Promise<number | undefined> {
    return projectOfDirectory(await this.#files.read(), path) === project ? project : undefined;
  }

  /** Nearly every machine has no such tables: one look at the beginning is enough there. */
  async #isListed(path: string): Promise<boolean> {
    if (this.#mayBeListed === false) return false;
    const tables = await this.#files.read();
    this.#mayBeListed ??= tables.projects.includes(`:${this.#podsDir}/`);
    return projectOfDirectory(tables, path) !== undefined;
  }

  #calls(): Promise<QuotaSyscalls> {
    this.#syscalls ??= this.#load();
    return this.#syscalls;
  }
}

async function freeProject(calls: QuotaSyscalls, fd: number, tables: ProjectTables): Promise<number> {
  const listed = listedProjects(tables);
  for (let project = firstProject, inUse = 0; inUse < mostInUse; project++) {
    if (listed.has(project)) continue;
    const { bytes, inodes } = await calls.counted(fd, project);
    if (bytes === 0 && inodes === 0) return project;
    inUse++;
  }
  throw new KubeletError('conflict', 'NoProject', 'cannot find a project ID that is not in use');
}

async function inDirectory<T>(path: string, work: (fd: number) => Promise<T>): Promise<T> {
  let directory: FileHandle | undefined;
  try {
    directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return await work(directory.fd);
  } finally {
    await directory?.close();
  }
}

async function isEmpty(path: string): Promise<boolean> {
  const directory = await opendir(path);
  try {
    return (await directory.read()) === null;
  } finally {
    await directory.close();
  }
}

function isGone(err: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCode(err) ?? '');
}
