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
  ['sandbox not ready → start over', always, down(done), recreated],
  [
    'sandbox not ready under OnFailure, one failed → start over',
    onFailure,
    down([...firstTwo, ended('i3', 137)]),
    recreated,
  ],
  ['sandbox not ready under Never → only stopped', never, down(done), [notReady]],
  [
    'sandbox not ready under Never, nothing was created → recreated',
    never,
    down([]),
    [notReady, 'next sandbox 1', 'start init i1'],
  ],
  [
    'sandbox not ready under OnFailure, all regular ones succeeded → only stopped',
    onFailure,
    down([...done, ended('a', 0), ended('b', 0), ended('c', 0)]),
    [notReady],
  ],
  [
    'sandbox not ready under Never, the first was only created → recreated',
    never,
    down([created('i1')]),
    [notReady, 'remove i1-1', 'next sandbox 1', 'start init i1 for i1-1'],
  ],
  ['the last failed under Always → restarted', always, up(...firstTwo, ended('i3', 137)), ['start init i3']],
  [
    'the last failed under OnFailure → restarted',
    onFailure,
    up(...firstTwo, ended('i3', 137)),
    ['start init i3'],
  ],
  ['the last failed under Never → the pod stops', never, up(...firstTwo, ended('i3', 137)), [initFailed]],
  ['the first failed under Never → the pod stops', never, up(ended('i1', 1)), [initFailed]],
  ['the first failed under Always → restarted', always, up(ended('i1', 1)), ['start init i1']],
  [
    'OOM-killed with exit 0 under Always → restarted',
    always,
    up(ended('i1', 0, { reason: 'OOMKilled' })),
    ['start init i1'],
  ],
  [
    'OOM-killed under OnFailure → restarted',
    onFailure,
    up(ended('i1', 0, { reason: 'OOMKilled' })),
    ['start init i1'],
  ],
  [
    'OOM-killed under Never → the pod stops',
    never,
    up(ended('i1', 0, { reason: 'OOMKilled' })),
    [initFailed],
  ],
  [
    'unknown under Always → stopped, then restarted',
    always,
    up(...firstTwo, lost('i3')),
    [`stop i3-1 of i3: ${unknown}`, 'start init i3'],
  ],
  [
    'unknown under OnFailure → stopped, then restarted',
    onFailure,
    up(...firstTwo, lost('i3')),
    [`stop i3-1 of i3: ${unknown}`, 'start init i3'],
  ],
  ['unknown under Never → the pod stops', never, up(...firstTwo, lost('i3')), [initFailed]],
  ['created, not started → started', always, up(...firstTwo, created('i3')), ['go init i3 i3-1']],
  ['created, not started under Never → started', never, up(...firstTwo, created('i3')), ['go init i3 i3-1']],
  ['an interrupted start under Never → replaced', never, up(cut('i1')), ['start init i1 for i1-1']],
  ['earlier ones were removed, the last runs → wait', always, up(runs('i3')), []],
  ['earlier ones were removed, the last is done → the regular ones', always, up(ended('i3', 0)), starts],
  [
    'all were removed, a regular one runs → the others, no init container',
    always,
    up(runs('a')),
    ['start app b', 'start app c'],
  ],
  [
    'all were removed, a regular one is created → started, no init container',
    always,
    up(created('a'), runs('b'), runs('c')),
    ['go app a a-1'],
  ],
  [
    'all were removed, a regular one exited in this sandbox → no init container',
    always,
    up(ended('a', 1), ended('b', 1), ended('c', 1)),
    starts,
  ],
  [
    'a regular one exited in an older sandbox → the first',
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
    'initialized: an earlier failed one does not count',
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
    'OnFailure of the container under Never → restarted',
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
    'a rule for the exit code → restarted',
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
    'unknown, OnFailure of the container under Never → stopped, then restarted',
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
const sidecarsRecreated = [notReady, 'remove s1-1 s2-1 s3-1', 'next sandbox 1', 'start init s1'];

const sidecars: readonly Row[] = [
  ['all have started → the regular ones', sided, up(s1, s2, s3), starts, { probes: well }],
  ['none yet → the first', sided, up(), ['start init s1']],
  ['created, not started → started', sided, up(s1, s2, created('s3')), ['go init s3 s3-1'], { probes: well }],
  ['the first runs → the next', sided, up(s1), ['start init s2']],
  [
    'no liveness result yet → the next',
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
    'liveness failed → restarted, regular ones continue',
    sided,
    up(s1, s2, s3),
    ['stop s3-1 of s3: Init container s3 failed liveness probe (liveness)', 'start init s3', ...starts],
    { probes: { ...well, 's3-1 liveness': 'failure' } },
  ],
  [
    'liveness of an earlier one failed → restarted, and the next one starts',
    sided,
    up(s1, s2),
    ['stop s2-1 of s2: Init container s2 failed liveness probe (liveness)', 'start init s2', 'start init s3'],
    { probes: { ...well, 's2-1 liveness': 'failure' } },
  ],
  ['no startup result yet → wait', sided, up(s1, s2), []],
  ['startup is unknown → wait', sided, up(s1, s2), [], { probes: { 's2-1 startup': 'unknown' } }],
  ['startup holds → the next', sided, up(s1, s2), ['start init s3'], { probes: well }],
  [
    'startup failed → restarted, the next one waits',
    sided,
    up(s1, s2, s3),
    ['stop s3-1 of s3: Init container s3 failed startup probe (startup)', 'start init s3'],
    { probes: { ...well, 's3-1 startup': 'failure' } },
  ],
  [
    'a changed definition → restarted, regular ones continue',
    sided,
    up(s1, s2, runs('s3', { hash: 'x' })),
    ['stop s3-1 of s3: Init container s3 definition changed (other)', 'start init s3', ...starts],
    { probes: well },
  ],
  ['a changed definition before startup → wait', sided, up(s1, runs('s2', { hash: 'x' })), []],
  [
    'first and last exited → both restarted, regular ones wait',
    sided,
    up(ended('s1', 0), s2, ended('s3', 0)),
    ['start init s1', 'start init s3'],
    { probes: well },
  ],
  [
    'the first exited → restarted, regular ones start',
    sided,
    up(ended('s1', 0), s2, s3),
    ['start init s1', ...starts],
    { probes: well },
  ],
  ['sandbox not ready under Never → only stopped', sidedNever, down([s1, s2, ended('s3', 137)]), [notReady]],
  [
    'sandbox not ready under Never, nothing was created → recreated',
    sidedNever,
    down([]),
    [notReady, 'next sandbox 1', 'start init s1'],
  ],
  [
    'sandbox not ready under OnFailure → recreated',
    sidedOnFailure,
    down([s1, s2, ended('s3', 137)]),
    sidecarsRecreated,
  ],
  ['sandbox not ready under Always → recreated', sided, down([s1, s2, ended('s3', 137)]), sidecarsRecreated],
  [
    'the last failed under Never → restarted anyway',
    sidedNever,
    up(s1, s2, ended('s3', 137)),
    ['start init s3'],
    { probes: well },
  ],
  [
    'unknown under Never → stopped, then restarted',
    sidedNever,
    up(s1, s2, lost('s3')),
    [`stop s3-1 of s3: ${unknown}`, 'start init s3'],
    { probes: well },
  ],
  [
    'one failed beside running regular ones under Never → restarted',
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
    'all regular ones exited under Never, a sidecar exited → the pod stops, no restart',
    sidedNever,
    up(ended('s1', 1), s2, s3, ended('a', 0), ended('b', 1), ended('c', 0)),
    [allEnded],
    { probes: well },
  ],
  [
    'earlier ones were removed, the last runs → they are restarted',
    sided,
    up(s3),
    ['start init s1', 'start init s2', ...starts],
    { probes: well },
  ],
  [
    'initialized: a sidecar that was removed is restarted',
    sided,
    up(s1, s2, ...apps),
    ['start init s3'],
    { probes: well },
  ],
  [
    'initialized: a sidecar that exited is restarted',
    sided,
    up(s1, ended('s2', 0), s3, ...apps),
    ['start init s2'],
    { probes: well },
  ],
  [
    'initialized: a sidecar in start-up blocks nothing',
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
    'a sidecar exits while a plain one runs → it is restarted',
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
    'a plain one failed under OnFailure, the sidecar exited → both',
    podOf({ init: [sidecar('s1'), 'i'], restartPolicy: 'OnFailure' }),
    up(ended('s1', 0), ended('i', 1)),
    ['start init s1', 'start init i'],
  ],
  ['an interrupted start → replaced', sided, up(cut('s1')), ['start init s1 for s1-1']],
];
checkActions('sidecars', sidecars);

const startupProbe = { exec: { command: ['true'] } };
const hooked: readonly Row[] = [
  [
    'its hook is unfinished → the hook runs again, and the next one waits',
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
    'running regular containers continue',
    podOf({ init: [sidecar('s')], apps: ['a'] }),
    up(runs('s'), runs('a')),
    ['finish init s s-1'],
    { unfinished: ['s-1'] },
  ],
  [
    'its definition changed → replaced',
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
  ['running → nothing', debugged, up(...steady, runs('d')), []],
  ['missing → started', debugged, up(...steady), ['start ephemeral d']],
  [
    'a second one is missing → started',
    podOf({ init: ['i'], debug: ['d', 'd2'] }),
    up(...steady, runs('d')),
    ['start ephemeral d2'],
  ],
  ['exited → not restarted', debugged, up(...steady, ended('d', 1)), []],
  ['while the pod is being initialized → started', debugged, up(runs('i')), ['start ephemeral d']],
  [
    'before an init container that is restarted',
    debugged,
    up(ended('i', 1)),
    ['start ephemeral d', 'start init i'],
  ],
  [
    'sandbox not ready, an init container failed under OnFailure → recreated without it',
    podOf({ init: ['i'], debug: ['d'], restartPolicy: 'OnFailure' }),
    down([ended('i', 137), runs('d')]),
    [notReady, 'remove i-1', 'next sandbox 1', 'start init i'],
  ],
  [
    'sandbox not ready → recreated without it',
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
    'unknown → ignored',
    podOf({ init: ['i'], debug: ['d'], restartPolicy: 'Never' }),
    up(...steady, lost('d')),
    [],
  ],
  ['created, not started → started', debugged, up(...steady, created('d')), ['go ephemeral d d-1']],
  ['an interrupted start → replaced', debugged, up(...steady, cut('d')), ['start ephemeral d for d-1']],
  [
    'probes do not stop it',
    debugged,
    up(...steady, runs('d')),
    [],
    { probes: { 'd-1 liveness': 'failure' } },
  ],
];
checkActions('ephemeral containers', debugging);
