// Mounts below a directory, in this mount namespace.
import { readFileSync } from 'node:fs';
import { run } from './process.ts';

/** Mount points below `dir`, in the order in which they can be unmounted: the last one first. */
export function mountsBelow(dir: string): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => unescapePath(line.split(' ')[4] ?? ''))
    .filter((path) => path.startsWith(`${dir}/`))
    .reverse();
}

/** The kernel escapes spaces, tabs, newlines and backslashes as octal numbers. */
function unescapePath(path: string): string {
  return path.replaceAll(/\\(\d{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

export async function unmountBelow(dir: string): Promise<void> {
  for (let tries = 0; tries < 10; tries++) {
    const mounts = mountsBelow(dir);
    if (mounts.length === 0) return;
    // The last attempts detach busy mounts, since their users are dead or dying.
    await run('umount', tries < 5 ? mounts : ['-l', ...mounts]);
  }
}
