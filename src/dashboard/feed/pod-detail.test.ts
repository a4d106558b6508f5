import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { asPodUid } from '../../api/pod/pod-ref.ts';
import type { PodDetail } from '../../api/ports/node-page.ts';
import { encodeDetail, endViews, eventViews } from './pod-detail.ts';
import { podRow } from './pod-row.ts';

const row = podRow({
  uid: asPodUid('uid-p'),
  pod: aPod(),
  name: { namespace: '', name: '' },
  isRemoved: false,
  status: undefined,
  lifecycle: undefined,
  sentence: { text: '' },
});
const parts = { row, starts: [], probes: [], ends: [], containers: [], volumes: [], events: [] };
const limit = 512 * 1024;
const decode = (text: string): PodDetail => JSON.parse(text) as PodDetail;

test('the pod is the API object with the reported status, without managed fields and resolved secrets', () => {
  const secretKeyRef = { name: 's', key: 'k' };
  const pod = aPod({
    containers: [aContainer({ env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef } }] })],
  });
  const managed = { ...pod, metadata: { ...pod.metadata, managedFields: [{ manager: 'x' }] } };
  const status = { phase: 'Running' };
  const detail = decode(encodeDetail(parts, managed, status, new WeakMap()));
  expect(detail.pod).toEqual({ ...pod, status });
  expect(detail.note).toBeUndefined();
});

test('a spec is encoded once', () => {
  const encoded = new WeakMap<object, string>();
  const pod = aPod();
  encodeDetail(parts, pod, undefined, encoded);
  if (pod.spec !== undefined) encoded.set(pod.spec, '"known"');
  expect(decode(encodeDetail(parts, pod, undefined, encoded)).pod).toMatchObject({ spec: 'known' });
});

test.each([
  ['ASCII', 'x'],
  ['three bytes', '漢'],
  ['escaped', '\u0000'],
])('a detail beyond 512 KiB keeps what is essential and names what is missing: %s', (_, letter) => {
  const pod = aPod({ annotations: { big: letter.repeat(600_000) } });
  const text = encodeDetail(parts, pod, undefined, new WeakMap());
  expect(Buffer.byteLength(text)).toBeLessThan(limit);
  expect(decode(text)).toMatchObject({
    row: { name: 'p' },
    pod: { metadata: { name: 'p', namespace: 'default', uid: 'uid-p' } },
    note: 'too large to be shown: pod',
  });
});

test('events are bounded and newest first', () => {
  const event = { type: 'Normal', reason: 'r', count: 1, lastTimestamp: '2026-01-01T00:00:00Z' };
  const views = eventViews([
    { ...event, message: 'first' },
    { ...event, message: 'x'.repeat(10_000), fieldPath: 'spec.containers{c}' },
  ]);
  expect(views.map(({ about, message }) => [about, message.length])).toEqual([
    ['spec.containers{c}', 1_024],
    ['', 5],
  ]);
});

test('ends are bounded, and a line that is no record is omitted', () => {
  const record = { id: 'c/1', time: '2026-01-01T00:00:00Z', kind: 'exit', cause: 'Ended.', exitCode: 1 };
  const lastLines = Array.from({ length: 100 }, () => 'y'.repeat(5_000));
  const lines = [
    JSON.stringify({ ...record, container: 'c', lastLines }),
    '{"id":',
    '7',
    JSON.stringify(record),
  ];
  const views = endViews(lines);
  expect(views.map(({ container, lastLines: kept }) => [container, kept?.length])).toEqual([
    ['c', 20],
    [undefined, undefined],
  ]);
  expect(JSON.stringify(views).length).toBeLessThan(10_000);
  expect(views[1]).toEqual({ ...record, time: undefined, atMs: Date.UTC(2026, 0, 1) });
});
