// The release of the containerd that the rig runs, for tests of what only later releases have.
import { execFileSync } from 'node:child_process';
import { describe } from 'vitest';
import { describeOnRig } from './on-rig.ts';
import { rigUnavailableReason } from './prerequisites.ts';

/** Major and minor; undefined on a machine without a rig. */
function installedRelease(): readonly [number, number] | undefined {
  if (rigUnavailableReason() !== undefined) return undefined;
  const version = execFileSync('containerd', ['--version'], { encoding: 'utf8' }).split(' ')[2] ?? '';
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  return [major, minor];
}

/** Undefined on this containerd and later ones; otherwise the end of a test's name. */
export function olderContainerdReason(major: number, minor = 0): string | undefined {
  const found = installedRelease();
  // The suite is skipped for that reason.
  if (found === undefined) return undefined;
  if (found[0] > major || (found[0] === major && found[1] >= minor)) return undefined;
  return `skipped: containerd ${found.join('.')} lacks this; RIG_CONTAINERD=2 selects containerd 2`;
}

/**
 * Undefined if the kubelet's cgroupDriver takes effect; otherwise the end of a test's name. From containerd 2 on the runtime
 * reports its own driver, which is cgroupfs on a machine without systemd, and the runtime's driver wins.
 */
export function fixedCgroupDriverReason(): string | undefined {
  const major = installedRelease()?.[0] ?? 0;
  return major < 2 ? undefined : 'containerd 2 reports its own cgroup driver';
}

/** A suite that needs a rig with this containerd or a later one. Skipped with the reason in its name otherwise. */
export function describeOnContainerd(major: number, minor: number, name: string, body: () => void): void {
  const why = olderContainerdReason(major, minor);
  if (why === undefined) describeOnRig(name, body);
  else describe.skip(`${name} (${why})`, body);
}

/** A suite about what releases before this one refuse. Skipped with the reason in its name on later ones. */
export function describeBeforeContainerd(major: number, minor: number, name: string, body: () => void): void {
  if (olderContainerdReason(major, minor) !== undefined) describeOnRig(name, body);
  else describe.skip(`${name} (skipped: this containerd has it)`, body);
}
