import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ProjectFiles, type ProjectPaths } from './project-files.ts';

let directory: string;
let paths: ProjectPaths;
let files: ProjectFiles;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'projects-'));
  paths = { projects: join(directory, 'projects'), names: join(directory, 'projid') };
  files = new ProjectFiles(paths);
});
afterEach(async () => await rm(directory, { recursive: true }));

const add = (line: string) => (tables: { projects: string; names: string }) => ({
  ...tables,
  projects: `${tables.projects}${line}\n`,
});

test('treats missing files as empty and creates them world-readable with the first line', async () => {
  expect(await files.read()).toEqual({ projects: '', names: '' });
  await files.change(add('1:/a'));
  expect(await files.read()).toEqual({ projects: '1:/a\n', names: '' });
  expect((await stat(paths.projects)).mode & 0o777).toBe(0o644);
});

test('keeps the mode of a file and leaves no temporary file', async () => {
  await writeFile(paths.projects, '1:/a\n');
  await chmod(paths.projects, 0o600);
  await files.change(add('2:/b'));
  expect((await stat(paths.projects)).mode & 0o777).toBe(0o600);
  expect((await readdir(directory)).sort()).toEqual(['projects', 'projid']);
});

test('replaces a temporary file that a killed kubelet of the same PID left', async () => {
  await writeFile(`${paths.projects}.${process.pid}`, 'half');
  await files.change(add('1:/a'));
  expect((await files.read()).projects).toBe('1:/a\n');
  expect((await readdir(directory)).sort()).toEqual(['projects', 'projid']);
});

test('serialises concurrent changes', async () => {
  await Promise.all(['1:/a', '2:/b', '3:/c', '4:/d'].map(async (line) => await files.change(add(line))));
  expect((await files.read()).projects).toBe('1:/a\n2:/b\n3:/c\n4:/d\n');
});

test('a failed change alters nothing and does not block the next', async () => {
  await expect(
    files.change(() => {
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  await files.change(add('1:/a'));
  expect((await files.read()).projects).toBe('1:/a\n');
});

test('rejects a link and a directory', async () => {
  await symlink('/etc/passwd', paths.projects);
  await expect(files.change(add('1:/a'))).rejects.toMatchObject({ code: 'ELOOP' });
  await rm(paths.projects);
  const odd = new ProjectFiles({ ...paths, projects: directory });
  await expect(odd.change(add('1:/a'))).rejects.toThrow();
});

test('waits for another program’s lock and keeps its changes', async () => {
  await writeFile(paths.projects, '');
  const script = 'echo locked; read line; echo 7:/other >> "$0"';
  const other = spawn('flock', [paths.projects, 'sh', '-c', script, paths.projects]);
  await once(other.stdout, 'data');
  const change = files.change(add('1:/a'));
  await files.read();
  expect(await readFile(paths.projects, 'utf8')).toBe('');
  other.stdin.end('go\n');
  await change;
  expect((await files.read()).projects).toBe('7:/other\n1:/a\n');
});
