import { expect, test } from 'vitest';
import { computeStart, type StartDecision, type TrialMarker } from './decide-start.ts';

const valid = { checksum: 'new', isValid: true };
const invalid = { checksum: 'new', isValid: false };
const trying: TrialMarker = { checksum: 'new', state: 'trying', reason: '' };
const failed: TrialMarker = { checksum: 'new', state: 'failed', reason: 'it did not start' };
const ofOther: TrialMarker = { ...failed, checksum: 'other' };

const cases: readonly (readonly [string, Parameters<typeof computeStart>[0], StartDecision])[] = [
  [
    'valid files without a last known good configuration are tried',
    { files: valid, lastKnownGood: undefined, marker: undefined },
    { run: 'files', onTrial: true },
  ],
  [
    'the last known good configuration itself is not tried again',
    { files: valid, lastKnownGood: 'new', marker: undefined },
    { run: 'files', onTrial: false },
  ],
  [
    'a marker does not count against the last known good configuration',
    { files: valid, lastKnownGood: 'new', marker: failed },
    { run: 'files', onTrial: false },
  ],
  [
    'changed files are tried',
    { files: valid, lastKnownGood: 'old', marker: undefined },
    { run: 'files', onTrial: true },
  ],
  [
    'files that crashed the process are not tried again',
    { files: valid, lastKnownGood: 'old', marker: trying },
    { run: 'last-known-good', because: 'crashed' },
  ],
  [
    'files that fell back are not tried again',
    { files: valid, lastKnownGood: 'old', marker: failed },
    { run: 'last-known-good', because: 'failed' },
  ],
  [
    'other files than those that fell back are tried',
    { files: valid, lastKnownGood: 'old', marker: ofOther },
    { run: 'files', onTrial: true },
  ],
  [
    'files that crashed are tried again without a last known good configuration',
    { files: valid, lastKnownGood: undefined, marker: trying },
    { run: 'files', onTrial: true },
  ],
  [
    'invalid files yield the last known good configuration',
    { files: invalid, lastKnownGood: 'old', marker: undefined },
    { run: 'last-known-good', because: 'invalid' },
  ],
  [
    'invalid files without a last known good configuration fail',
    { files: invalid, lastKnownGood: undefined, marker: trying },
    { run: 'nothing' },
  ],
];

test.each(cases)('computeStart: %s', (_, input, want) => {
  expect(computeStart(input)).toEqual(want);
});
