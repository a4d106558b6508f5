// Whether a path still names the file that it named at first: a cgroup may be removed and created again.
import { statSync } from 'node:fs';

export function sameFile(path: string): () => boolean {
  const inode = (): bigint | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
  const first = inode();
  return () => first !== undefined && inode() === first;
}
