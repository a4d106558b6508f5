import { describe, expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { isDns1123Subdomain } from '../api/k8s/names.ts';
import { eventName, makeEvent, nodeReference, podReference } from './event-object.ts';

const nanos = 1_767_225_600_123_000_001n;

describe('makeEvent', () => {
  test("builds the API object of a container's event", () => {
    const pod = aPod();
    const event = makeEvent({
      object: podReference(
        { ...pod, metadata: { ...pod.metadata, resourceVersion: '7' } },
        'spec.containers{c}',
      ),
      text: { type: 'Normal', reason: 'Started', message: 'Container started' },
      nodeName: 'n',
      nowMs: 1_767_225_600_123,
      unixNanos: nanos,
    });
    expect(event).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `p.${nanos.toString(16)}`, namespace: 'default' },
      involvedObject: {
        kind: 'Pod',
        apiVersion: 'v1',
        namespace: 'default',
        name: 'p',
        uid: 'uid-p',
        resourceVersion: '7',
        fieldPath: 'spec.containers{c}',
      },
      reason: 'Started',
      message: 'Container started',
      type: 'Normal',
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      count: 1,
      source: { component: 'kubelet', host: 'n' },
      reportingComponent: 'kubelet',
      reportingInstance: 'n',
    });
  });

  test('references a static pod by its own UID, without resource version and field path', () => {
    expect(podReference(aPod({ uid: 'hash-of-the-file' }), undefined)).toEqual({
      kind: 'Pod',
      apiVersion: 'v1',
      namespace: 'default',
      name: 'p',
      uid: 'hash-of-the-file',
    });
  });

  test('references the node by its name, in the default namespace', () => {
    const object = nodeReference('n', undefined);
    const text = { type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' } as const;
    const event = makeEvent({ object, text, nodeName: 'n', nowMs: 0, unixNanos: nanos });
    expect(object).toEqual({ kind: 'Node', apiVersion: 'v1', name: 'n', uid: 'n' });
    expect(nodeReference('n', 'uid-n')).toEqual({ kind: 'Node', apiVersion: 'v1', name: 'n', uid: 'uid-n' });
    expect(event.metadata.namespace).toBe('default');
  });
});

describe('eventName', () => {
  const cases = [
    ['a plain name', 'web-1', 'web-1'],
    ['a long name is cut', 'a'.repeat(250), 'a'.repeat(230)],
    ['invalid characters are replaced', 'Node_A', 'node-a'],
    ['a name without valid characters becomes "event"', '__', 'event'],
  ] as const;
  test.each(cases)('%s', (_, objectName, prefix) => {
    const name = eventName(objectName, nanos);
    expect(name).toBe(`${prefix}.${nanos.toString(16)}`);
    expect(isDns1123Subdomain(name)).toEqual([]);
  });
});
