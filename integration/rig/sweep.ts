// Before the first and after the last test file: clears what rigs of killed processes left.
import { whyRigCannotRun } from './can-run.ts';
import { sweepDeadRigs } from './leftovers.ts';

async function sweep(): Promise<void> {
  if (whyRigCannotRun() === undefined) await sweepDeadRigs();
}

export const setup = sweep;
export const teardown = sweep;
