import { expect, test } from 'vitest';
import { aContainer, anObservedPod, aSandbox } from '../../../test/builders/builders.ts';
import {
  allEnded,
  checkActions,
  created,
  cut,
  down,
  ended,
  id,
  lost,
  notReady,
  older,
  podOf,
  type Row,
  runs,
  sidecar,
  up,
} from '../../../test/builders/pod-actions.ts';
import type { Pod } from '../../api/k8s/types.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import { computePodActions, isPodTerminal } from './compute-pod-actions.ts';

const always = podOf();
const onFailure = podOf({ restartPolicy: 'OnFailure' });
const never = podOf({ restartPolicy: 'Never' });
const one = podOf({ apps: ['a'] });
const oneNever = podOf({ apps: ['a'], restartPolicy: 'Never' });
const threeUp = up(runs('a'), runs('b'), runs('c'));
const withoutAddress = anObservedPod({ containers: threeUp.containers, sandboxes: [aSandbox({ ips: [] })] });
const starts = ['start app a', 'start app b', 'start app c'];
const unknown = 'Container is in "unknown" state, try killing it before restart (other)';
const error = 'exec: "/no/such/binary": no such file or directory';

const regular: readonly Row[] = [
  ['everything runs → nothing', always, threeUp, []],
  ['a new pod → sandbox, then all in order', always, undefined, ['first sandbox 0', ...starts]],
  ['sandbox ready, no containers → all', always, up(), starts],
  ['one is missing → that one', always, up(runs('a'), runs('c')), ['start app b']],
  [
    'Always: exited ones are restarted',
    always,
    up(ended('a', 0), ended('b', 111), runs('c')),
    ['start app a', 'start app b'],
  ],
  [
    'OnFailure: only failed ones are restarted',
    onFailure,
    up(ended('a', 0), ended('b', 111), runs('c')),
    ['start app b'],
  ],
  [
    'OnFailure: a created container is started',
    onFailure,
    up(ended('a', 0), created('b'), runs('c')),
    ['go app b b-1'],
  ],
  ['Never: nothing is restarted', never, up(ended('a', 0), ended('b', 111), runs('c')), []],
  ['Never, all exited → the pod stops', never, up(ended('a', 0), ended('b', 1), ended('c', 0)), [allEnded]],
  [
    'OnFailure, all succeeded → the pod stops',
    onFailure,
    up(ended('a', 0), ended('b', 0), ended('c', 0)),
    [allEnded],
  ],
  ['Never, one was never created → started', never, up(ended('a', 0), runs('b')), ['start app c']],
  [
    'an unset policy means Always',
    podOf({ apps: ['a'], restartPolicy: '' }),
    up(ended('a', 0)),
    ['start app a'],
  ],
  [
    'only the newest container of a name counts',
    one,
    up(runs('a', { id: id('a-2'), restartCount: 1 }), ended('a', 1)),
    [],
  ],
  [
    'a changed definition → recreated',
    always,
    up(runs('a'), runs('b', { hash: 'other' }), runs('c')),
    ['stop b-1 of b: Container b definition changed, will be restarted (other)', 'start app b'],
  ],
  [
    'a changed definition under Never → recreated anyway',
    oneNever,
    up(runs('a', { hash: 'other' })),
    ['stop a-1 of a: Container a definition changed, will be restarted (other)', 'start app a'],
  ],
  [
    'a changed definition of an exited one under Never → nothing',
    never,
    up(ended('a', 1, { hash: 'x' }), runs('b'), runs('c')),
    [],
  ],
  [
    'unknown under Always → stopped, then recreated',
    one,
    up(lost('a')),
    [`stop a-1 of a: ${unknown}`, 'start app a'],
  ],
  [
    'unknown under Never → stopped, then recreated',
    never,
    up(runs('a'), lost('b'), runs('c')),
    [`stop b-1 of b: ${unknown}`, 'start app b'],
  ],
  ['created, not started → started', one, up(created('a')), ['go app a a-1']],
  [
    'created, not started under Never → started',
    never,
    up(runs('a'), created('b'), runs('c')),
    ['go app b b-1'],
  ],
  ['created from another spec → replaced', one, up(created('a', { hash: 'x' })), ['start app a for a-1']],
  [
    'created in an older sandbox → replaced',
    one,
    up(created('a', { sandboxId: older })),
    ['start app a for a-1'],
  ],
  ['an interrupted start → replaced', one, up(cut('a')), ['start app a for a-1']],
  ['an interrupted start under Never → restarted', oneNever, up(cut('a')), ['start app a for a-1']],
  ['a failed start → restarted', one, up(cut('a', { message: error })), ['start app a']],
  ['a failed start under Never → the pod stops', oneNever, up(cut('a', { message: error })), [allEnded]],
  [
    'marked for deletion: nothing is restarted',
    podOf({ apps: ['a'], deleted: true }),
    up(ended('a', 1)),
    [allEnded],
  ],
  ['marked for deletion: running containers stay', podOf({ apps: ['a'], deleted: true }), up(runs('a')), []],
  ['a container that is not in the spec is left alone', one, up(runs('a'), runs('extra')), []],
];
checkActions('regular containers', regular);

const sandboxes: readonly Row[] = [
  [
    'not ready → stopped, recreated, all started',
    always,
    down(threeUp.containers),
    [notReady, 'next sandbox 1', ...starts],
  ],
  [
    'not ready under OnFailure → all but what succeeded',
    onFailure,
    down([runs('a'), ended('b', 0), runs('c')]),
    [notReady, 'next sandbox 1', 'start app a', 'start app c'],
  ],
  [
    'not ready under OnFailure, all succeeded → only stopped',
    onFailure,
    down([ended('a', 0), ended('b', 0), ended('c', 0)], { attempt: 1 }),
    [notReady],
  ],
  [
    'not ready under OnFailure, one failed → that one',
    onFailure,
    down([ended('a', 0), ended('b', 2), ended('c', 0)]),
    [notReady, 'next sandbox 1', 'start app b'],
  ],
  [
    'not ready under Never, all exited → only stopped',
    never,
    down([ended('a', 0), ended('b', 0), ended('c', 0)], { attempt: 1 }),
    [notReady],
  ],
  ['not ready under Never, some ran → only stopped', never, down([ended('a', 0)]), [notReady]],
  [
    'not ready under Never, nothing was ever created → the next',
    never,
    down([], { attempt: 2 }),
    [notReady, 'next sandbox 3', ...starts],
  ],
  [
    'not ready under Never, one was only created → the next',
    oneNever,
    down([created('a')]),
    [notReady, 'next sandbox 1', 'start app a for a-1'],
  ],
  [
    'not ready under Never, a start was interrupted → the next',
    oneNever,
    down([cut('a')]),
    [notReady, 'next sandbox 1', 'start app a for a-1'],
  ],
  [
    'without an address → recreated',
    always,
    withoutAddress,
    ['stop pod: Pod sandbox changed: the sandbox has no address', 'next sandbox 1', ...starts],
  ],
  [
    'with hostNetwork, no address is needed',
    podOf({ hostNetwork: true }),
    anObservedPod({ containers: threeUp.containers, sandboxes: [aSandbox({ ips: [], hostNetwork: true })] }),
    [],
  ],
  [
    'pod network, spec has hostNetwork → recreated',
    podOf({ apps: ['a'], hostNetwork: true }),
    up(runs('a')),
    ['stop pod: Pod sandbox changed: the network namespace changed', 'next sandbox 1', 'start app a'],
  ],
  [
    'host network, spec has none → recreated',
    one,
    anObservedPod({ containers: [runs('a')], sandboxes: [aSandbox({ hostNetwork: true })] }),
    ['stop pod: Pod sandbox changed: the network namespace changed', 'next sandbox 1', 'start app a'],
  ],
  [
    'two are ready → recreated',
    one,
    anObservedPod({
      containers: [runs('a')],
      sandboxes: [aSandbox({ attempt: 4 }), aSandbox({ id: older })],
    }),
    ['stop pod: Pod sandbox changed: more than one sandbox is ready', 'next sandbox 5', 'start app a'],
  ],
  [
    'an older one beside a ready one → nothing',
    one,
    anObservedPod({
      containers: [runs('a')],
      sandboxes: [aSandbox({ attempt: 1 }), aSandbox({ id: older, ready: false })],
    }),
    [],
  ],
  [
    'an older ready one behind one that is not → recreated',
    one,
    anObservedPod({
      containers: [],
      sandboxes: [aSandbox({ attempt: 1, ready: false }), aSandbox({ id: older })],
    }),
    [notReady, 'next sandbox 2', 'start app a'],
  ],
  [
    'not ready, with an ephemeral container → it is not restarted',
    podOf({ apps: ['a'], debug: ['d'] }),
    down([runs('a'), runs('d')]),
    [notReady, 'next sandbox 1', 'start app a'],
  ],
];
checkActions('the sandbox', sandboxes);

const probed: readonly Row[] = [
  [
    'liveness failed → recreated',
    always,
    threeUp,
    ['stop b-1 of b: Container b failed liveness probe, will be restarted (liveness)', 'start app b'],
    { probes: { 'b-1 liveness': 'failure' } },
  ],
  [
    'startup failed → recreated',
    always,
    threeUp,
    ['stop b-1 of b: Container b failed startup probe, will be restarted (startup)', 'start app b'],
    { probes: { 'b-1 startup': 'failure' } },
  ],
  [
    'liveness failed under OnFailure → recreated',
    onFailure,
    threeUp,
    ['stop b-1 of b: Container b failed liveness probe, will be restarted (liveness)', 'start app b'],
    { probes: { 'b-1 liveness': 'failure' } },
  ],
  [
    'liveness failed under Never → stopped, not restarted',
    never,
    threeUp,
    ['stop b-1 of b: Container b failed liveness probe (liveness)'],
    { probes: { 'b-1 liveness': 'failure' } },
  ],
  [
    'startup failed under Never → stopped, not restarted',
    never,
    threeUp,
    ['stop b-1 of b: Container b failed startup probe (startup)'],
    { probes: { 'b-1 startup': 'failure' } },
  ],
  [
    'liveness failed under Never, the last one → the pod stops',
    oneNever,
    up(runs('a')),
    [allEnded],
    { probes: { 'a-1 liveness': 'failure' } },
  ],
  [
    'liveness takes precedence over startup',
    one,
    up(runs('a')),
    ['stop a-1 of a: Container a failed liveness probe, will be restarted (liveness)', 'start app a'],
    { probes: { 'a-1 liveness': 'failure', 'a-1 startup': 'failure' } },
  ],
  [
    'a changed definition takes precedence over liveness',
    one,
    up(runs('a', { hash: 'x' })),
    ['stop a-1 of a: Container a definition changed, will be restarted (other)', 'start app a'],
    { probes: { 'a-1 liveness': 'failure' } },
  ],
  [
    'success and unknown change nothing',
    one,
    up(runs('a')),
    [],
    { probes: { 'a-1 liveness': 'success', 'a-1 startup': 'unknown' } },
  ],
  ['readiness does not restart', one, up(runs('a')), [], { probes: { 'a-1 readiness': 'failure' } }],
  [
    'a result of an earlier container does not count',
    one,
    up(runs('a', { id: id('a-2') }), ended('a', 1)),
    [],
    { probes: { 'a-1 liveness': 'failure' } },
  ],
  [
    'a result of an exited one does not count',
    one,
    up(ended('a', 1)),
    ['start app a'],
    { probes: { 'a-1 liveness': 'failure' } },
  ],
];
checkActions('probes', probed);

const unfinished = { unfinished: ['b-1'] };
const hooks: readonly Row[] = [
  [
    'running, its hook is unfinished → the hook runs again',
    always,
    threeUp,
    ['finish app b b-1'],
    unfinished,
  ],
  [
    'in the order of the spec, among those that start',
    always,
    up(runs('b')),
    ['start app a', 'finish app b b-1', 'start app c'],
    unfinished,
  ],
  ['Never: the hook runs anyway', never, threeUp, ['finish app b b-1'], unfinished],
  [
    'exited → its restart policy applies',
    always,
    up(runs('a'), ended('b', 1), runs('c')),
    ['start app b'],
    unfinished,
  ],
  [
    'created, not started → started',
    always,
    up(runs('a'), created('b'), runs('c')),
    ['go app b b-1'],
    unfinished,
  ],
  [
    'its definition changed → replaced',
    always,
    up(runs('a'), runs('b', { hash: 'other' }), runs('c')),
    ['stop b-1 of b: Container b definition changed, will be restarted (other)', 'start app b'],
    unfinished,
  ],
];
checkActions('postStart hooks', hooks);

const policy = (
  name: string,
  restartPolicy: string,
  values?: number[],
  operator = 'In',
): ReturnType<typeof aContainer> =>
  aContainer({
    name,
    restartPolicy,
    ...(values === undefined
      ? {}
      : { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator, values } }] }),
  });
const ruled: readonly Row[] = [
  [
    'Always of the container under Never of the pod',
    podOf({ apps: [policy('a', 'Always'), policy('b', 'Always'), 'c'], restartPolicy: 'Never' }),
    up(ended('a', 0), ended('b', 111), runs('c')),
    ['start app a', 'start app b'],
    { rules: true },
  ],
  [
    'OnFailure of the container under Never of the pod',
    podOf({ apps: [policy('a', 'OnFailure'), policy('b', 'OnFailure'), 'c'], restartPolicy: 'Never' }),
    up(ended('a', 0), ended('b', 111), runs('c')),
    ['start app b'],
    { rules: true },
  ],
  [
    'OnFailure of the container, one was only created',
    podOf({ apps: [policy('a', 'OnFailure'), policy('b', 'OnFailure'), 'c'], restartPolicy: 'Never' }),
    up(ended('a', 0), created('b'), runs('c')),
    ['go app b b-1'],
    { rules: true },
  ],
  [
    'Never of the container under Always of the pod',
    podOf({ apps: [policy('a', 'Never'), policy('b', 'Never'), 'c'] }),
    up(ended('a', 0), ended('b', 111), runs('c')),
    [],
    { rules: true },
  ],
  [
    'sandbox not ready: all but what succeeded under OnFailure',
    podOf({ apps: ['a', policy('b', 'OnFailure'), 'c'] }),
    down([runs('a'), ended('b', 0), runs('c')]),
    [notReady, 'next sandbox 1', 'start app a', 'start app c'],
    { rules: true },
  ],
  [
    'sandbox not ready: Always of the container under OnFailure of the pod',
    podOf({ apps: [policy('a', 'Always'), 'b'], restartPolicy: 'OnFailure' }),
    down([ended('a', 0), ended('b', 0)]),
    [notReady, 'next sandbox 1', 'start app a'],
    { rules: true },
  ],
  [
    'a rule for the exit code',
    podOf({ apps: [policy('a', 'Never', [42])] }),
    up(ended('a', 42)),
    ['start app a'],
    { rules: true },
  ],
  [
    'a rule for another exit code',
    podOf({ apps: [policy('a', 'Never', [42])] }),
    up(ended('a', 1)),
    [allEnded],
    { rules: true },
  ],
  [
    'a rule for all other exit codes',
    podOf({ apps: [policy('a', 'Never', [42], 'NotIn')] }),
    up(ended('a', 1)),
    ['start app a'],
    { rules: true },
  ],
  [
    'a rule for all other exit codes, and this one',
    podOf({ apps: [policy('a', 'Never', [42], 'NotIn')] }),
    up(ended('a', 42)),
    [allEnded],
    { rules: true },
  ],
  [
    'a rule with an unknown operator',
    podOf({ apps: [policy('a', 'Never', [1], 'Like')] }),
    up(ended('a', 1)),
    [allEnded],
    { rules: true },
  ],
  [
    'a rule without a container policy is ignored',
    podOf({
      apps: [{ ...policy('a', 'x', [1]), restartPolicy: undefined } as never],
      restartPolicy: 'Never',
    }),
    up(ended('a', 1)),
    [allEnded],
    { rules: true },
  ],
  [
    'the first rule that matches decides',
    podOf({
      apps: [
        aContainer({
          name: 'a',
          restartPolicy: 'Never',
          restartPolicyRules: [
            { action: 'Other', exitCodes: { operator: 'In', values: [1] } },
            { action: 'Restart', exitCodes: { operator: 'In', values: [1] } },
          ],
        }),
      ],
    }),
    up(ended('a', 1)),
    [allEnded],
    { rules: true },
  ],
  [
    'liveness failed, Never of the container under Always',
    podOf({ apps: [policy('a', 'Never'), 'b'] }),
    up(runs('a'), runs('b')),
    ['stop a-1 of a: Container a failed liveness probe (liveness)'],
    { rules: true, probes: { 'a-1 liveness': 'failure' } },
  ],
  [
    'liveness failed, Always of the container under Never',
    podOf({ apps: [policy('a', 'Always'), 'b'], restartPolicy: 'Never' }),
    up(runs('a'), runs('b')),
    ['stop a-1 of a: Container a failed liveness probe, will be restarted (liveness)', 'start app a'],
    { rules: true, probes: { 'a-1 liveness': 'failure' } },
  ],
  [
    'liveness failed: rules do not apply while it runs',
    podOf({ apps: [policy('a', 'Never', [137]), 'b'] }),
    up(runs('a'), runs('b')),
    ['stop a-1 of a: Container a failed liveness probe (liveness)'],
    { rules: true, probes: { 'a-1 liveness': 'failure' } },
  ],
  [
    "without the gate the container's policy is ignored",
    podOf({ apps: [policy('a', 'Never', [1])] }),
    up(ended('a', 0)),
    ['start app a'],
    { rules: false },
  ],
  [
    "without the gate only the pod's policy applies",
    podOf({ apps: [policy('a', 'Always')], restartPolicy: 'Never' }),
    up(ended('a', 1)),
    [allEnded],
    { rules: false },
  ],
];
checkActions('policies of containers', ruled);

test('the actions themselves', () => {
  expect(computePodActions(podOf({ apps: ['a'] }), down([cut('a')]))).toEqual([
    { do: 'stop-pod', why: 'Pod sandbox changed: the sandbox is not ready' },
    { do: 'create-sandbox', attempt: 1, changed: true },
    { do: 'start-container', name: 'a', kind: 'app', replaces: 'a-1' },
  ]);
});

const endings: readonly (readonly [string, Pod, ObservedPod | undefined, boolean])[] = [
  ['Never, exit 1', oneNever, up(ended('a', 1)), true],
  ['Never, exit 1, sandbox not ready', oneNever, down([ended('a', 1)]), true],
  ['OnFailure, exit 0', podOf({ apps: ['a'], restartPolicy: 'OnFailure' }), up(ended('a', 0)), true],
  ['OnFailure, exit 1', podOf({ apps: ['a'], restartPolicy: 'OnFailure' }), up(ended('a', 1)), false],
  ['Always, exit 0', one, up(ended('a', 0)), false],
  ['Never, still running', oneNever, up(runs('a')), false],
  [
    'Never, one of two was never created',
    podOf({ apps: ['a', 'b'], restartPolicy: 'Never' }),
    up(ended('a', 0)),
    false,
  ],
  ['Never, an interrupted start', oneNever, up(cut('a')), false],
  ['never observed', oneNever, undefined, false],
  [
    'Never, an init container failed',
    podOf({ apps: ['a'], init: ['i'], restartPolicy: 'Never' }),
    up(ended('i', 1)),
    true,
  ],
  [
    'Never, an init container failed beside a running sidecar',
    podOf({ init: [sidecar('s'), 'i'], restartPolicy: 'Never' }),
    up(runs('s'), ended('i', 1)),
    true,
  ],
  [
    'OnFailure, an init container failed',
    podOf({ apps: ['a'], init: ['i'], restartPolicy: 'OnFailure' }),
    up(ended('i', 1)),
    false,
  ],
  [
    'Never, an init container failed in an older sandbox',
    podOf({ apps: ['a'], init: ['i'], restartPolicy: 'Never' }),
    up(ended('i', 1, { sandboxId: older })),
    false,
  ],
  [
    'Never, all exited, a sidecar still runs',
    podOf({ apps: ['a'], init: [sidecar('s')], restartPolicy: 'Never' }),
    up(runs('s'), ended('a', 0)),
    false,
  ],
  [
    'Never, all exited, and the sidecar too',
    podOf({ apps: ['a'], init: [sidecar('s')], restartPolicy: 'Never' }),
    up(ended('s', 0), ended('a', 0)),
    true,
  ],
  [
    'Never, all exited, an ephemeral container still runs',
    podOf({ apps: ['a'], debug: ['d'], restartPolicy: 'Never' }),
    up(runs('d'), ended('a', 0)),
    true,
  ],
];
for (const [name, pod, seen, want] of endings) {
  test(`isPodTerminal: ${name} → ${want}`, () => expect(isPodTerminal(pod, seen)).toBe(want));
}
