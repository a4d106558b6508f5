import { expect, test } from 'vitest';
import { asContainerId, asPodUid } from '../../api/pod/pod-ref.ts';
import { CpuSet } from './cpu-set.ts';
import { computeClaims } from './survey-cpusets.ts';

/** CPUs 1-7 may be exclusive, 0 is reserved. The containers are `pod: cpus`. */
const cases: readonly (readonly [string, boolean, readonly string[], readonly string[]])[] = [
  ['exclusive and shared containers', false, ['a: 1-2', 'b: 3', 's: 0,4-7', 't: 0,4-7'], ['a', 'b']],
  ['a shared container that was not updated yet', false, ['a: 1-2', 's: 0-7'], ['a']],
  ['the containers of one pod may overlap', false, ['a: 1-2', 'a: 1-3'], ['a', 'a']],
  ['two pods on the same CPUs', false, ['a: 1-2', 'b: 2-3', 'c: 4'], ['c']],
  ['unknown and unrestricted containers', false, ['a: ?', 'b: ', 'c: 4'], ['c']],
  ['CPUs that the machine does not have', false, ['a: 1,9'], []],
  ['strict: several shared containers', true, ['a: 1-2', 's: 3-7', 't: 3-7'], ['a']],
  ['strict: one shared container', true, ['a: 1-2', 's: 3-7'], ['a']],
];
for (const [name, isStrict, containers, want] of cases)
  test(`computeClaims: ${name}`, () => {
    const surveyed = containers.map((each, at) => {
      const [uid = '', cpus = ''] = each.split(': ');
      const set = cpus === '?' ? undefined : CpuSet.parse(cpus);
      return { id: asContainerId(`${at}`), uid: asPodUid(uid), name: `c${at}`, cpus: set };
    });
    const claims = computeClaims(surveyed, CpuSet.parse('1-7'), isStrict);
    expect(claims.map(({ uid }) => uid)).toEqual(want);
  });
