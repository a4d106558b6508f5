// Live configuration of whole kubelets in memory: one proof per field, and what holds for all of them.
import { expect, test } from 'vitest';
import { appliesByPath } from '../../../src/config/live/diff.ts';
import { evictionProofs } from './live-proofs/eviction.ts';
import { imageProofs } from './live-proofs/images.ts';
import { logProofs } from './live-proofs/logs.ts';
import { loopProofs } from './live-proofs/loops.ts';
import { nodeProofs } from './live-proofs/node.ts';
import { podProofs } from './live-proofs/pods.ts';

const proofs = {
  ...podProofs,
  ...imageProofs,
  ...evictionProofs,
  ...nodeProofs,
  ...loopProofs,
  ...logProofs,
};

test.each(Object.entries(proofs))('%s', (_, prove) => prove());
