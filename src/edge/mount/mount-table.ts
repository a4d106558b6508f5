// Reads the kernel's mount table. Invariant: paths are returned as on disk, with the kernel's octal escapes decoded.
import { readFile } from 'node:fs/promises';

export interface MountEntry {
  readonly id: number;
  /** `major:minor` of the device. */
  readonly device: string;
  /** The path within the file system that is mounted. */
  readonly root: string;
  readonly mountPoint: string;
  readonly fsType: string;
  /** Mount events below it propagate to its peer group, and vice versa. */
  readonly isShared: boolean;
  /** Options of the superblock; for cgroup v1, the controllers. */
  readonly superOptions: readonly string[];
}

export async function readMountTable(path = '/proc/self/mountinfo'): Promise<readonly MountEntry[]> {
  return parseMountTable(await readFile(path, 'utf8'));
}

export function parseMountTable(text: string): readonly MountEntry[] {
  return text.split('\n').flatMap((line) => {
    const [before, after] = line.split(' - ');
    const [id, , device = '', root = '', mountPoint, , ...optional] = before?.split(' ') ?? [];
    const [fsType, , superOptions] = after?.split(' ') ?? [];
    if (mountPoint === undefined || fsType === undefined) return [];
    return [
      {
        id: Number(id),
        device,
        root: unescapeOctal(root),
        mountPoint: unescapeOctal(mountPoint),
        fsType,
        isShared: optional.some((field) => field.startsWith('shared:')),
        superOptions: (superOptions ?? '').split(','),
      },
    ];
  });
}

function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
