// The configuration files of a command line, on the disk of this machine.
import { readdir, readFile } from 'node:fs/promises';
import type { ConfigurationFiles } from '../config/load/read-files.ts';

export function configurationFiles(): ConfigurationFiles {
  return {
    read: (path) => readFile(path, 'utf8'),
    list: async (path) =>
      (await readdir(path, { withFileTypes: true })).map((entry) => ({
        name: entry.name,
        isDirectory: entry.isDirectory(),
      })),
    workingDirectory: process.cwd(),
  };
}
