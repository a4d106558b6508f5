// Reads the kernel's mount table. Invariant: paths come back as they are on disk, with the kernel's octal escapes undone.
import { readFile } from 'node:fs/promises';

export interface MountEntry {
  readonly mountPoint: string;
  readonly fsType: string;
  /** Options of the file system itself: on cgroup v1 its controllers. */
  readonly superOptions: readonly string[];
}

export async function readMountTable(path = '/proc/self/mountinfo'): Promise<readonly MountEntry[]> {
  return parseMountTable(await readFile(path, 'utf8'));
}

export function parseMountTable(text: string): readonly MountEntry[] {
  return text.split('\n').flatMap((line) => {
    const [before, after] = line.split(' - ');
    const mountPoint = before?.split(' ')[4];
    const [fsType, , superOptions] = after?.split(' ') ?? [];
    if (mountPoint === undefined || fsType === undefined) return [];
    return [{ mountPoint: unescapeOctal(mountPoint), fsType, superOptions: (superOptions ?? '').split(',') }];
  });
}

function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
