// Measures volumes by quota projects, one per volume, so that they need not be walked.
// Upstream: pkg/volume/util/fsquota, which runs xfs_quota and lsattr; this calls the kernel. The tables in /etc are the same.
// Invariants: it measures only and sets no limits; a directory with a foreign project keeps it; an ID that anything on the file
// system still has is not reused; a table entry is removed with its directory.
// differs from upstream: a volume that is not empty gets no project and is walked instead. xfs_quota would change its entries one
// by one while containers may swap them for links, a risk that no measurement is worth.
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
  /** Parent of all volumes. */
  readonly podsDir: string;
  /** Default: the kernel's. */
  readonly syscalls?: () => Promise<QuotaSyscalls>;
}

/** Gives up after this many IDs that are in use on the file system without being listed. */
const maxUnlistedInUse = 128;

export class ProjectQuotas {
  readonly #files: ProjectFiles;
  readonly #podsDir: string;
  readonly #load: () => Promise<QuotaSyscalls>;
  readonly #projects = new Map<string, number>();
  #syscalls: Promise<QuotaSyscalls> | undefined;
  /** Whether a table may list a volume of this kubelet; undefined until it was read. */
  #mayBeListed: boolean | undefined;

  constructor({ paths, podsDir, syscalls = loadQuotaSyscalls }: ProjectQuotasDeps) {
    this.#files = new ProjectFiles(paths);
    this.#podsDir = podsDir;
    this.#load = syscalls;
  }

  /** Assigns a project to the directory. False if the file system or the directory does not permit it. */
  async count(path: string): Promise<boolean> {
    return await inDirectory(path, async (fd) => {
      const calls = await this.#calls();
      if (!(await calls.isCounting(fd))) return false;
      const current = await calls.projectOf(fd);
      const project = current === 0 ? await this.#assign(path, fd) : await this.#listedAs(path, current);
      if (project === undefined) return false;
      this.#projects.set(path, project);
      return true;
    });
  }

  /** Called before the directory is removed. Relies only on what is on disk; a missing directory is not an error. */
  async end(path: string): Promise<void> {
    this.#projects.delete(path);
    if (!(await this.#isListed(path))) return;
    await inDirectory(path, async (fd) => {
      const calls = await this.#calls();
      const project = await calls.projectOf(fd);
      // The Go kubelet sets the highest possible limits, since its tool reports only projects with limits.
      if (project === projectOfDirectory(await this.#files.read(), path))
        await calls.clearLimits(fd, project);
    }).catch((err: unknown) => {
      if (!isGone(err)) throw err;
    });
    await this.#files.change((tables) => removeDirectory(tables, path));
  }

  /** Undefined if the directory has no project or the call fails: the caller then walks the directory, which reports the cause. */
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

  /** Assigns the listed project, left by an interrupted call, or a new one. */
  async #assign(path: string, fd: number): Promise<number | undefined> {
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

  /** Most nodes have no such tables, so they are read only once. */
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
  for (let project = firstProject, inUse = 0; inUse < maxUnlistedInUse; project++) {
    if (listed.has(project)) continue;
    const { bytes, inodes } = await calls.counted(fd, project);
    if (bytes === 0 && inodes === 0) return project;
    inUse++;
  }
  throw new KubeletError('conflict', 'NoProject', 'cannot find a project ID that is not in use');
}

async function inDirectory<T>(path: string, run: (fd: number) => Promise<T>): Promise<T> {
  let directory: FileHandle | undefined;
  try {
    directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return await run(directory.fd);
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
