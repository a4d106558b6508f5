// The release of the containerd that the rig runs, for tests of what only later releases have.
import { execFileSync } from 'node:child_process';
import { rigUnavailableReason } from './prerequisites.ts';

/** 0 on a machine without a rig. */
function installedMajor(): number {
  if (rigUnavailableReason() !== undefined) return 0;
  const version = execFileSync('containerd', ['--version'], { encoding: 'utf8' }).split(' ')[2] ?? '';
  return Number.parseInt(version.replace(/^v/, ''), 10);
}

/** Undefined on containerd 2 and later; otherwise the end of a test's name. */
export function whyNotContainerd2(): string | undefined {
  const major = installedMajor();
  if (major >= 2) return undefined;
  return `skipped: containerd ${major} lacks this; RIG_CONTAINERD=2 selects containerd 2`;
}
