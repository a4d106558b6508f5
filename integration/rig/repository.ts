// Where this repository lies. Commands are started in it, so the way up from the working directory finds it.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

export function repositoryRoot(from = process.cwd()): string {
  if (existsSync(join(from, 'bin', 'kubelet')) && existsSync(join(from, 'package.json'))) return from;
  const up = dirname(from);
  if (up === from) throw new Error('the repository of the kubelet is not above the working directory');
  return repositoryRoot(up);
}
