// Suites that need a rig. On a machine that cannot run one they are skipped, with the reason in their name.
import { describe } from 'vitest';
import { rigUnavailableReason } from './prerequisites.ts';

export function describeOnRig(name: string, body: () => void): void {
  const why = rigUnavailableReason();
  describe.skipIf(why !== undefined)(why === undefined ? name : `${name} (skipped: ${why})`, body);
}
