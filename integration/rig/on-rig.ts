// Test suites that need the rig: where the machine cannot run it they are skipped, with the reason in their name.
import { describe } from 'vitest';
import { whyRigCannotRun } from './can-run.ts';

export function describeOnRig(name: string, body: () => void): void {
  const why = whyRigCannotRun();
  describe.skipIf(why !== undefined)(why === undefined ? name : `${name} (skipped: ${why})`, body);
}
