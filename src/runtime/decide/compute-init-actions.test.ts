import { aContainer } from '../../../test/builders/builders.ts';
import {
  allEnded,
  checkActions,
  created,
  cut,
  down,
  ended,
  initFailed,
  lost,
  notReady,
  older,
  podOf,
  type Row,
  runs,
  sidecar,
  up,
} from '../../../test/builders/pod-actions.ts';

const init = ['i1', 'i2', 'i3'];
const always = podOf({ init });
const onFailure = podOf({ init, restartPolicy: 'OnFailure' });
const never = podOf({ init, restartPolicy: 'Never' });
const done = [ended('i1', 0), ended('i2', 0), ended('i3', 0)];
const firstTwo = done.slice(0, 2);
const starts = ['start app a', 'start app b', 'start app c'];
const unknown = 'Init container is in "unknown" state, try killing it before restart (other)';
const recreated = [notReady, 'remove i1-1 i2-1 i3-1', 'next sandbox 1', 'start init i1'];

const plain: readonly Row[] = [
  ['all done → the regular ones', always, up(...done), starts],
  ['none yet → the first', always, up(), ['start init i1']],
  ['a new pod → sandbox and the first', always, undefined, ['first sandbox 0', 'start init i1']],
  ['the first is done → the second', always, up(ended('i1', 0)), ['start init i2']],
  ['two are done → the third', always, up(...firstTwo), ['start init i3']],
  ['the first runs → wait', always, up(runs('i1')), []],
  ['the last runs → wait', always, up(...firstTwo, runs('i3')), []],
  ['the sandbox is dead → everything anew', always, down(done), recreated],
  [
    'the sandbox is dead under OnFailure, one failed → everything anew',
    onFailure,
    down([...firstTwo, ended('i3', 137)]),
    recreated,
  ],
  ['the sandbox is dead under Never → only cleared away', never, down(done), [notReady]],
  [
    'the sandbox is dead under Never, nothing was made → anew',
    never,
    down([]),
    [notReady, 'next sandbox 1', 'start init i1'],
  ],
  [
    'the sandbox is dead under OnFailure, all regular ones succeeded → only cleared away',
    onFailure,
    down([...done, ended('a', 0), ended('b', 0), ended('c', 0)]),
    [notReady],
  ],
  [
    'the sandbox is dead under Never, the first was only made → anew',
    never,
    down([created('i1')]),
    [notReady, 'remove i1-1', 'next sandbox 1', 'start init i1 for i1-1'],
  ],
  ['the last failed under Always → again', always, up(...firstTwo, ended('i3', 137)), ['start init i3']],
  [
    'the last failed under OnFailure → again',
    onFailure,
    up(...firstTwo, ended('i3', 137)),
    ['start init i3'],
  ],
  ['the last failed under Never → the pod stops', never, up(...firstTwo, ended('i3', 137)), [initFailed]],
  ['the first failed under Never → the pod stops', never, up(ended('i1', 1)), [initFailed]],
  ['the first failed under Always → the first again', always, up(ended('i1', 1)), ['start init i1']],
  [
    'out of memory is a failure, even with exit 0',
    always,
    up(ended('i1', 0, { reason: 'OOMKilled' })),
    ['start init i1'],
  ],
  [
    'out of memory under OnFailure → again',
    onFailure,
    up(ended('i1', 0, { reason: 'OOMKilled' })),
    ['start init i1'],
  ],
  [
    'out of memory under Never → the pod stops',
    never,
    up(ended('i1', 0, { reason: 'OOMKilled' })),
    [initFailed],
  ],
  [
    'unknown under Always → ended, then again',
    always,
    up(...firstTwo, lost('i3')),
    [`stop i3-1 of i3: ${unknown}`, 'start init i3'],
  ],
  [
    'unknown under OnFailure → ended, then again',
    onFailure,
    up(...firstTwo, lost('i3')),
    [`stop i3-1 of i3: ${unknown}`, 'start init i3'],
  ],
  ['unknown under Never → the pod stops', never, up(...firstTwo, lost('i3')), [initFailed]],
  ['made, not started → started', always, up(...firstTwo, created('i3')), ['go init i3 i3-1']],
  ['made, not started under Never → started', never, up(...firstTwo, created('i3')), ['go init i3 i3-1']],
  [
    'a start that was cut off under Never → again in its place',
    never,
    up(cut('i1')),
    ['start init i1 for i1-1'],
  ],
  ['earlier ones were cleared away, the last runs → wait', always, up(runs('i3')), []],
  ['earlier ones were cleared away, the last is done → the regular ones', always, up(ended('i3', 0)), starts],
  [
    'all were cleared away, a regular one runs → the others, no init container',
    always,
    up(runs('a')),
    ['start app b', 'start app c'],
  ],
  [
    'all were cleared away, a regular one is made → it, no init container',
    always,
    up(created('a'), runs('b'), runs('c')),
    ['go app a a-1'],
  ],
  [
    'all were cleared away, a regular one ended in this sandbox → no init container',
    always,
    up(ended('a', 1), ended('b', 1), ended('c', 1)),
    starts,
  ],
  [
    'a regular one ended in an older sandbox → the first',
    always,
    up(ended('a', 1, { sandboxId: older })),
    ['start init i1'],
  ],
  [
    'done in an older sandbox only → the first',
    always,
    up(ended('i1', 0, { sandboxId: older }), ended('i3', 0, { sandboxId: older })),
    ['start init i1'],
  ],
  [
    'failed in an older sandbox under Never → the first',
    never,
    up(ended('i1', 1, { sandboxId: older })),
    ['start init i1'],
  ],
  [
    'a changed definition does not run it again',
    always,
    up(...firstTwo, ended('i3', 0, { hash: 'x' })),
    starts,
  ],
  [
    'initialized: a failed one of before does not count',
    always,
    up(ended('i3', 1), runs('a'), runs('b'), runs('c')),
    [],
  ],
  [
    'marked for deletion, one failed → the pod stops',
    podOf({ init, deleted: true }),
    up(ended('i1', 1)),
    [initFailed],
  ],
  [
    'probes of plain ones do not count',
    always,
    up(runs('i1')),
    [],
    { probes: { 'i1-1 liveness': 'failure', 'i1-1 startup': 'failure' } },
  ],
];
checkActions('init containers', plain);

const one = (over: object): ReturnType<typeof aContainer> => aContainer({ name: 'i1', ...over });
const rule = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
const ruled: readonly Row[] = [
  [
    'OnFailure of the container under Never → again',
    podOf({ init: [one({ restartPolicy: 'OnFailure' })], restartPolicy: 'Never' }),
    up(ended('i1', 1)),
    ['start init i1'],
    { rules: true },
  ],
  [
    'Never of the container under Always → the pod stops',
    podOf({ init: [one({ restartPolicy: 'Never' })] }),
    up(ended('i1', 1)),
    [initFailed],
    { rules: true },
  ],
  [
    'a rule for the exit code → again',
    podOf({ init: [one({ restartPolicy: 'Never', restartPolicyRules: rule })] }),
    up(ended('i1', 42)),
    ['start init i1'],
    { rules: true },
  ],
  [
    'a rule for another exit code → the pod stops',
    podOf({ init: [one({ restartPolicy: 'Never', restartPolicyRules: rule })] }),
    up(ended('i1', 1)),
    [initFailed],
    { rules: true },
  ],
  [
    'unknown, Never of the container under Always → the pod stops',
    podOf({ init: [one({ restartPolicy: 'Never' })] }),
    up(lost('i1')),
    [initFailed],
    { rules: true },
  ],
  [
    'unknown, OnFailure of the container under Never → ended, then again',
    podOf({ init: [one({ restartPolicy: 'OnFailure' })], restartPolicy: 'Never' }),
    up(lost('i1')),
    [`stop i1-1 of i1: ${unknown}`, 'start init i1'],
    { rules: true },
  ],
  [
    'without the gate the pod decides',
    podOf({ init: [one({ restartPolicy: 'OnFailure' })], restartPolicy: 'Never' }),
    up(ended('i1', 1)),
    [initFailed],
  ],
];
checkActions('init containers with policies', ruled);

const probe = { exec: { command: ['true'] } };
const probedSidecar = (name: string): ReturnType<typeof sidecar> =>
  sidecar(name, { livenessProbe: probe, startupProbe: probe });
const sides = [sidecar('s1'), probedSidecar('s2'), probedSidecar('s3')];
const well = {
  's2-1 startup': 'success',
  's2-1 liveness': 'success',
  's3-1 startup': 'success',
  's3-1 liveness': 'success',
} as const;
const sided = podOf({ init: sides });
const sidedNever = podOf({ init: sides, restartPolicy: 'Never' });
const sidedOnFailure = podOf({ init: sides, restartPolicy: 'OnFailure' });
const [s1, s2, s3] = [runs('s1'), runs('s2'), runs('s3')];
const apps = [runs('a'), runs('b'), runs('c')];
const sidesAnew = [notReady, 'remove s1-1 s2-1 s3-1', 'next sandbox 1', 'start init s1'];

const sidecars: readonly Row[] = [
  ['all have started → the regular ones', sided, up(s1, s2, s3), starts, { probes: well }],
  ['none yet → the first', sided, up(), ['start init s1']],
  ['made, not started → started', sided, up(s1, s2, created('s3')), ['go init s3 s3-1'], { probes: well }],
  ['the first runs → the next', sided, up(s1), ['start init s2']],
  [
    'liveness was not asked yet → the next',
    sided,
    up(s1, s2),
    ['start init s3'],
    { probes: { 's2-1 startup': 'success' } },
  ],
  [
    'liveness is unknown → the next',
    sided,
    up(s1, s2),
    ['start init s3'],
    { probes: { ...well, 's2-1 liveness': 'unknown' } },
  ],
  ['liveness holds → the next', sided, up(s1, s2), ['start init s3'], { probes: well }],
  [
    'liveness failed → anew, and the regular ones go on',
    sided,
    up(s1, s2, s3),
    ['stop s3-1 of s3: Init container s3 failed liveness probe (liveness)', 'start init s3', ...starts],
    { probes: { ...well, 's3-1 liveness': 'failure' } },
  ],
  [
    'liveness of an earlier one failed → anew, and the next',
    sided,
    up(s1, s2),
    ['stop s2-1 of s2: Init container s2 failed liveness probe (liveness)', 'start init s2', 'start init s3'],
    { probes: { ...well, 's2-1 liveness': 'failure' } },
  ],
  ['startup was not asked yet → wait', sided, up(s1, s2), []],
  ['startup is unknown → wait', sided, up(s1, s2), [], { probes: { 's2-1 startup': 'unknown' } }],
  ['startup holds → the next', sided, up(s1, s2), ['start init s3'], { probes: well }],
  [
    'startup failed → anew, nothing after it',
    sided,
    up(s1, s2, s3),
    ['stop s3-1 of s3: Init container s3 failed startup probe (startup)', 'start init s3'],
    { probes: { ...well, 's3-1 startup': 'failure' } },
  ],
  [
    'a changed definition → anew, and the regular ones go on',
    sided,
    up(s1, s2, runs('s3', { hash: 'x' })),
    ['stop s3-1 of s3: Init container s3 definition changed (other)', 'start init s3', ...starts],
    { probes: well },
  ],
  ['a changed definition before startup → wait', sided, up(s1, runs('s2', { hash: 'x' })), []],
  [
    'first and last ended → both again, the regular ones wait',
    sided,
    up(ended('s1', 0), s2, ended('s3', 0)),
    ['start init s1', 'start init s3'],
    { probes: well },
  ],
  [
    'the first ended → again, beside the regular ones',
    sided,
    up(ended('s1', 0), s2, s3),
    ['start init s1', ...starts],
    { probes: well },
  ],
  [
    'the sandbox is dead under Never → only cleared away',
    sidedNever,
    down([s1, s2, ended('s3', 137)]),
    [notReady],
  ],
  [
    'the sandbox is dead under Never, nothing was made → anew',
    sidedNever,
    down([]),
    [notReady, 'next sandbox 1', 'start init s1'],
  ],
  ['the sandbox is dead under OnFailure → anew', sidedOnFailure, down([s1, s2, ended('s3', 137)]), sidesAnew],
  ['the sandbox is dead under Always → anew', sided, down([s1, s2, ended('s3', 137)]), sidesAnew],
  [
    'the last failed under Never → again all the same',
    sidedNever,
    up(s1, s2, ended('s3', 137)),
    ['start init s3'],
    { probes: well },
  ],
  [
    'unknown under Never → ended, then again',
    sidedNever,
    up(s1, s2, lost('s3')),
    [`stop s3-1 of s3: ${unknown}`, 'start init s3'],
    { probes: well },
  ],
  [
    'one failed beside running regular ones under Never → again',
    sidedNever,
    up(s1, s2, ended('s3', 137), ...apps),
    ['start init s3'],
    { probes: well },
  ],
  [
    'all regular ones succeeded under Never → the pod stops',
    sidedNever,
    up(s1, s2, s3, ended('a', 0), ended('b', 0), ended('c', 0)),
    [allEnded],
    { probes: well },
  ],
  [
    'all regular ones ended under Never, one has to come back → the pod stops, it does not',
    sidedNever,
    up(ended('s1', 1), s2, s3, ended('a', 0), ended('b', 1), ended('c', 0)),
    [allEnded],
    { probes: well },
  ],
  [
    'earlier ones were cleared away, the last runs → they come back',
    sided,
    up(s3),
    ['start init s1', 'start init s2', ...starts],
    { probes: well },
  ],
  [
    'initialized: one that was cleared away comes back',
    sided,
    up(s1, s2, ...apps),
    ['start init s3'],
    { probes: well },
  ],
  [
    'initialized: one that ended comes back',
    sided,
    up(s1, ended('s2', 0), s3, ...apps),
    ['start init s2'],
    { probes: well },
  ],
  [
    'initialized: one in start-up holds nobody up',
    sided,
    up(s1, runs('s2'), s3, runs('a'), ended('b', 1), runs('c')),
    ['start app b'],
    { probes: { ...well, 's2-1 startup': 'unknown' } },
  ],
  [
    'a sidecar, then a plain one: the sidecar runs → the plain one',
    podOf({ init: [sidecar('s1'), 'i'] }),
    up(s1),
    ['start init i'],
  ],
  [
    'a sidecar, then a plain one that runs → wait',
    podOf({ init: [sidecar('s1'), 'i'] }),
    up(s1, runs('i')),
    [],
  ],
  [
    'a sidecar ends while a plain one runs → it comes back',
    podOf({ init: [sidecar('s1'), 'i'] }),
    up(ended('s1', 1), runs('i')),
    ['start init s1'],
  ],
  [
    'a plain one is done, the sidecar next → the sidecar',
    podOf({ init: ['i', sidecar('s1')] }),
    up(ended('i', 0)),
    ['start init s1'],
  ],
  [
    'a plain one failed under Never beside a sidecar → the pod stops',
    podOf({ init: [sidecar('s1'), 'i'], restartPolicy: 'Never' }),
    up(s1, ended('i', 1)),
    [initFailed],
  ],
  [
    'a plain one failed under OnFailure, the sidecar ended → both',
    podOf({ init: [sidecar('s1'), 'i'], restartPolicy: 'OnFailure' }),
    up(ended('s1', 0), ended('i', 1)),
    ['start init s1', 'start init i'],
  ],
  ['a start-up that was cut off → again in its place', sided, up(cut('s1')), ['start init s1 for s1-1']],
];
checkActions('sidecars', sidecars);

const startupProbe = { exec: { command: ['true'] } };
const hooked: readonly Row[] = [
  [
    'its hook has not finished → the hook runs again, and the next one waits',
    podOf({ init: [sidecar('s'), 'i'] }),
    up(runs('s')),
    ['finish init s s-1'],
    { unfinished: ['s-1'] },
  ],
  [
    'before its startup probe',
    podOf({ init: [sidecar('s', { startupProbe })], apps: ['a'] }),
    up(runs('s')),
    ['finish init s s-1'],
    { unfinished: ['s-1'] },
  ],
  [
    'regular containers that run go on',
    podOf({ init: [sidecar('s')], apps: ['a'] }),
    up(runs('s'), runs('a')),
    ['finish init s s-1'],
    { unfinished: ['s-1'] },
  ],
  [
    'its definition changed → another one is made',
    podOf({ init: [sidecar('s')], apps: ['a'] }),
    up(runs('s', { hash: 'other' }), runs('a')),
    ['stop s-1 of s: Init container s definition changed (other)', 'start init s'],
    { unfinished: ['s-1'] },
  ],
];
checkActions('sidecars with hooks', hooked);

const debugged = podOf({ init: ['i'], debug: ['d'] });
const steady = [...apps, ended('i', 0)];
const debugging: readonly Row[] = [
  ['it runs → nothing', debugged, up(...steady, runs('d')), []],
  ['not there yet → it is started', debugged, up(...steady), ['start ephemeral d']],
  [
    'a second one → that one',
    podOf({ init: ['i'], debug: ['d', 'd2'] }),
    up(...steady, runs('d')),
    ['start ephemeral d2'],
  ],
  ['it ended → not again', debugged, up(...steady, ended('d', 1)), []],
  ['while the pod is being initialized → it is started', debugged, up(runs('i')), ['start ephemeral d']],
  [
    'before an init container that has to go again',
    debugged,
    up(ended('i', 1)),
    ['start ephemeral d', 'start init i'],
  ],
  [
    'the sandbox is dead, an init container failed under OnFailure → anew without it',
    podOf({ init: ['i'], debug: ['d'], restartPolicy: 'OnFailure' }),
    down([ended('i', 137), runs('d')]),
    [notReady, 'remove i-1', 'next sandbox 1', 'start init i'],
  ],
  [
    'the sandbox is dead → anew without it',
    debugged,
    down([...steady, runs('d')]),
    [notReady, 'remove i-1', 'next sandbox 1', 'start init i'],
  ],
  [
    'only it still runs under Never → the pod stops',
    podOf({ init: ['i'], debug: ['d'], restartPolicy: 'Never' }),
    up(ended('a', 0), ended('b', 0), ended('c', 0), ended('i', 0), runs('d')),
    [allEnded],
  ],
  [
    'unknown → left alone',
    podOf({ init: ['i'], debug: ['d'], restartPolicy: 'Never' }),
    up(...steady, lost('d')),
    [],
  ],
  ['made, not started → started', debugged, up(...steady, created('d')), ['go ephemeral d d-1']],
  [
    'a start that was cut off → again in its place',
    debugged,
    up(...steady, cut('d')),
    ['start ephemeral d for d-1'],
  ],
  ['probes do not end it', debugged, up(...steady, runs('d')), [], { probes: { 'd-1 liveness': 'failure' } }],
];
checkActions('ephemeral containers', debugging);
