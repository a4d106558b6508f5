import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { computeExtraGroups } from './extra-groups.ts';

const withGroup = (gid: string) => ({
  persistent: { metadata: { annotations: { 'pv.beta.kubernetes.io/gid': gid } } },
});

const cases: readonly [string, readonly string[], readonly number[], readonly number[]][] = [
  ['no annotation → none', [], [], []],
  ['two volumes → both groups', ['1234', '5678'], [], [1234, 5678]],
  ['the same group twice → once', ['7', '7'], [], [7]],
  ['a group that the pod has → none', ['7'], [7], []],
  ['not a number → ignored', ['seven', '', '0x7', '7 '], [], []],
];
for (const [name, gids, own, want] of cases)
  test(`computeExtraGroups: ${name}`, () => {
    const pod = aPod({ securityContext: { supplementalGroups: [...own] } });
    expect(computeExtraGroups(pod, [{ persistent: undefined }, ...gids.map(withGroup)])).toEqual(want);
  });
