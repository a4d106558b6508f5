// Runs before the first and after the last test file: removes the leftovers of killed rigs.

import { sweepDeadRigs } from './leftovers.ts';
import { rigUnavailableReason } from './prerequisites.ts';

async function sweep(): Promise<void> {
  if (rigUnavailableReason() === undefined) await sweepDeadRigs();
}

export const setup = sweep;
export const teardown = sweep;
