// The root of this repository, found upwards from the working directory, since all commands run inside the repository.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

export function repositoryRoot(from = process.cwd()): string {
  if (existsSync(join(from, 'bin', 'kubelet')) && existsSync(join(from, 'package.json'))) return from;
  const up = dirname(from);
  if (up === from) throw new Error('the working directory is not inside the kubelet repository');
  return repositoryRoot(up);
}
