import { expect, test } from 'vitest';
import { type RestartSpec, restartsAfter } from './restart-policy.ts';

const rule = (operator: string, ...values: number[]): RestartSpec['restartPolicyRules'] => [
  { action: 'Restart', exitCodes: { operator, values } },
];

type Row = readonly [string, string | undefined, RestartSpec, readonly number[]];

/** With the gate: which of the exit codes 0, 1 and 42 cause a restart. */
const rows: readonly Row[] = [
  ['no policy', undefined, {}, [0, 1, 42]],
  ['the pod: Always', 'Always', {}, [0, 1, 42]],
  ['the pod: OnFailure', 'OnFailure', {}, [1, 42]],
  ['the pod: Never', 'Never', {}, []],
  ['its own policy wins: Always', 'Never', { restartPolicy: 'Always' }, [0, 1, 42]],
  ['its own policy wins: OnFailure', 'Never', { restartPolicy: 'OnFailure' }, [1, 42]],
  ['its own policy wins: Never', 'Always', { restartPolicy: 'Never' }, []],
  [
    'a rule adds to it: In',
    'Always',
    { restartPolicy: 'Never', restartPolicyRules: rule('In', 42) ?? [] },
    [42],
  ],
  [
    'a rule adds to it: NotIn',
    'Always',
    { restartPolicy: 'Never', restartPolicyRules: rule('NotIn', 42) ?? [] },
    [0, 1],
  ],
  ['a rule without a container policy is ignored', 'Never', { restartPolicyRules: rule('In', 42) ?? [] }, []],
  [
    'an unknown operator matches nothing',
    'Always',
    { restartPolicy: 'Never', restartPolicyRules: rule('Above', 1) ?? [] },
    [],
  ],
];

test.each(rows)('restartsAfter: %s', (_, podPolicy, container, want) => {
  const got = [0, 1, 42].filter((code) => restartsAfter({ podPolicy, rules: true }, container, code));
  expect(got).toEqual(want);
});

test('restartsAfter: without the gate only the pod policy counts', () => {
  const container = { restartPolicy: 'Always' };
  expect(restartsAfter({ podPolicy: 'Never', rules: false }, container, 1)).toBe(false);
});
