import { expect, test } from 'vitest';
import type { Node } from '../../api/k8s/types.ts';
import type { ThresholdMark } from '../../api/ports/node-page.ts';
import type { DiskRoom } from '../../api/ports/node-usage.ts';
import { nodeView } from './node-view.ts';

type Input = Parameters<typeof nodeView>[0];

const room = (device: string): DiskRoom => ({
  atMs: 0,
  device,
  capacityBytes: 100,
  availableBytes: 40,
  inodes: 10,
  inodesFree: 4,
});
const mark = (signal: string, kind: 'hard' | 'soft' = 'hard'): ThresholdMark => ({
  kind,
  signal,
  available: 7,
});
const marks = [
  mark('memory.available'),
  mark('memory.available', 'soft'),
  mark('nodefs.available'),
  mark('nodefs.inodesFree'),
  { ...mark('imagefs.available'), available: 8 },
  mark('containerfs.available'),
  mark('containerfs.inodesFree'),
  mark('pid.available'),
];
const base: Input = {
  checks: [],
  node: undefined,
  cpu: { capacityMillis: 2_000, allocatableMillis: 1_500 },
  memoryCapacityBytes: 1_000,
  signals: {},
  marks: { availableMemoryBytes: 300, thresholds: marks },
  pressure: ['MemoryPressure'],
  pods: { running: 1, total: 2, max: 110 },
  runtime: { name: 'containerd', version: '2.0', failure: undefined, hasAnswered: true },
  certificates: { serving: { notAfterMs: 5 }, client: undefined },
  configuration: undefined,
};
const view = (over: Partial<Input>) => nodeView({ ...base, ...over });
const ready = (status: string, message: string): Node => ({
  metadata: {},
  status: { conditions: [{ type: 'Ready', status, message }] },
});
const failed = (name: string, problem: string, isAdvisory = false) => ({ name, problem, isAdvisory });

test.each<[string, Partial<Input>, { ok: boolean; why: string }]>([
  ['a node without a cluster: its checks', {}, { ok: true, why: 'all health checks of the kubelet pass' }],
  [
    'a node without a cluster, with a failed check',
    { checks: [failed('runtime', 'down'), failed('pleg', 'late')] },
    { ok: false, why: 'runtime: down; pleg: late' },
  ],
  [
    'ready in the cluster',
    { node: ready('True', 'kubelet is ready') },
    { ok: true, why: 'kubelet is ready' },
  ],
  ['not ready in the cluster', { node: ready('False', 'no network') }, { ok: false, why: 'no network' }],
  ['unknown in the cluster', { node: ready('Unknown', 'no lease') }, { ok: false, why: 'no lease' }],
  [
    'reported ready, but a check fails',
    { node: ready('True', 'fine'), checks: [failed('runtime', 'down')] },
    { ok: false, why: 'runtime: down' },
  ],
  [
    'an advisory check is only named',
    { node: ready('True', 'fine'), checks: [failed('lease', 'not renewed', true)] },
    { ok: true, why: 'lease: not renewed' },
  ],
])('readiness: %s', (_, over, want) => expect(view(over).ready).toEqual(want));

test.each<[string, Input['configuration'], { state: string; pending: readonly string[] }]>([
  ['without live configuration', undefined, { state: 'static', pending: [] }],
  ['in force', { error: undefined, pendingRestart: [], outcome: 'good' }, { state: 'good', pending: [] }],
  [
    'on trial',
    { error: undefined, pendingRestart: [], outcome: 'on-trial' },
    { state: 'on-trial', pending: [] },
  ],
  [
    'waits for a restart',
    { error: undefined, pendingRestart: ['port'], outcome: 'pending-restart' },
    { state: 'pending-restart', pending: ['port'] },
  ],
  [
    'invalid files',
    { error: 'unknown field', pendingRestart: [], outcome: 'rejected' },
    { state: 'invalid: unknown field', pending: [] },
  ],
])('configuration: %s', (_, configuration, want) =>
  expect(view({ configuration }).configuration).toEqual(want),
);

test('one file system takes the thresholds of all signals that measure it', () => {
  const signals = { nodeFs: room('1'), imageFs: room('1'), containerFs: room('1') };
  const { disks } = view({ signals });
  expect(disks.map(({ name }) => name)).toEqual(['nodefs']);
  expect(disks[0]?.thresholds.map(({ signal }) => signal)).toEqual([
    'nodefs.available',
    'nodefs.inodesFree',
    'imagefs.available',
  ]);
});

test('separate file systems have their own thresholds', () => {
  const { disks } = view({ signals: { nodeFs: room('1'), imageFs: room('2'), containerFs: room('2') } });
  expect(disks.map(({ name, thresholds }) => [name, thresholds.length])).toEqual([
    ['nodefs', 2],
    ['imagefs', 3],
  ]);
});

test('what was not measured is left out', () => {
  const { disks, memory, processes } = view({ marks: { availableMemoryBytes: undefined, thresholds: [] } });
  expect({ disks, memory, processes }).toEqual({
    disks: [],
    memory: { capacityBytes: 1_000, availableBytes: undefined, thresholds: [] },
    processes: undefined,
  });
});

test('memory has its hard and soft thresholds, certificates those that exist', () => {
  const { certificates, memory } = view({});
  expect(memory.thresholds.map(({ kind }) => kind)).toEqual(['hard', 'soft']);
  expect(certificates).toEqual([{ name: 'serving', notAfterMs: 5 }]);
});

test.each([
  ['that answers', undefined, true, { name: 'containerd', version: '2.0', ok: true }],
  ['that fails', 'gone', true, { name: 'containerd', version: '2.0', ok: false, problem: 'gone' }],
  [
    'that has not answered yet',
    undefined,
    false,
    { name: 'containerd', version: '2.0', ok: false, problem: 'the container runtime has not answered yet' },
  ],
])('a runtime %s', (_, failure, hasAnswered, want) =>
  expect(view({ runtime: { name: 'containerd', version: '2.0', failure, hasAnswered } }).runtime).toEqual(
    want,
  ),
);
