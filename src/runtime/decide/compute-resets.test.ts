import { aContainer } from '../../../test/builders/builders.ts';
import {
  allEnded,
  checkActions,
  down,
  ended,
  podOf,
  type Row,
  runs,
  sidecar,
  up,
} from '../../../test/builders/pod-actions.ts';

const rules = { rules: true };
const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }];
const trigger = (name: string, over: object = {}): ReturnType<typeof aContainer> =>
  aContainer({ name, restartPolicy: 'Never', restartPolicyRules, ...over });

const plain = podOf({ apps: ['a', trigger('b')] });
const never = podOf({ apps: ['a', trigger('b')], restartPolicy: 'Never' });
const withInit = podOf({ init: [sidecar('s'), 'i'], apps: ['a', trigger('b')] });

const rows: readonly Row[] = [
  [
    'a matching exit → all are removed, the trigger last',
    plain,
    up(runs('a'), ended('b', 42)),
    ['reset a-1, then b-1'],
    rules,
  ],
  ['another exit code → the policy decides', plain, up(runs('a'), ended('b', 1)), [], rules],
  ['gate off → the policy decides', plain, up(runs('a'), ended('b', 42)), ['start app b']],
  [
    'the trigger is left after a kill of the kubelet → continues',
    plain,
    up(ended('b', 42)),
    ['reset b-1'],
    rules,
  ],
  [
    'init containers and sidecars are removed after the regular ones',
    withInit,
    up(runs('s'), ended('i', 0), runs('a'), ended('b', 42)),
    ['reset a-1, then s-1 i-1, then b-1'],
    rules,
  ],
  [
    'an init container triggers it',
    podOf({ init: [sidecar('s'), trigger('i')], apps: ['a'] }),
    up(runs('s'), ended('i', 42)),
    ['reset s-1, then i-1'],
    rules,
  ],
  [
    'a sidecar triggers it',
    podOf({ init: [sidecar('s', { restartPolicyRules })], apps: ['a'] }),
    up(ended('s', 42), runs('a')),
    ['reset a-1, then s-1'],
    rules,
  ],
  [
    'a pod that would be terminal runs again',
    never,
    up(ended('a', 0), ended('b', 42)),
    ['reset a-1, then b-1'],
    rules,
  ],
  ['without a match it is terminal', never, up(ended('a', 0), ended('b', 1)), [allEnded], rules],
  [
    'before a lost sandbox is replaced',
    plain,
    down([ended('a', 137), ended('b', 42)]),
    ['reset a-1, then b-1'],
    rules,
  ],
  ['all removed → starts again in the same sandbox', plain, up(), ['start app a', 'start app b'], rules],
];
checkActions('restart of all containers', rows);
