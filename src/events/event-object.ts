// Builds the API object of an event. Pure. Upstream: client-go/tools/record (makeEvent), tools/reference and
// pkg/kubelet/container/ref.go.

import { isDns1123Subdomain } from '../api/k8s/names.ts';
import type { Event, ObjectReference, Pod } from '../api/k8s/types.ts';
import type { EventText } from '../api/ports/events.ts';

const component = 'kubelet';
/** The namespace of events about objects without one. */
const defaultNamespace = 'default';

/** A static pod is referenced by its own UID, not its mirror pod's: `kubectl describe` of the mirror pod selects that one. */
export function podReference(pod: Pod, fieldPath: string | undefined): ObjectReference {
  const { name, namespace, uid, resourceVersion } = pod.metadata ?? {};
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined || resourceVersion === '' ? {} : { resourceVersion }),
    ...(fieldPath === undefined ? {} : { fieldPath }),
  };
}

/**
 * differs from upstream: while the UID is unknown, the node's name takes its place instead of none. `kubectl describe node`
 * selects events by both.
 */
export function nodeReference(nodeName: string, uid: string | undefined): ObjectReference {
  return { kind: 'Node', apiVersion: 'v1', name: nodeName, uid: uid ?? nodeName };
}

/** Leaves room for the hexadecimal time in the 253 characters of a name. */
const maxObjectNameLength = 230;

/**
 * `name.<hex of nanoseconds>`. differs from upstream: an invalid name is sanitized, not replaced by a random one, so that it
 * still identifies the object.
 */
export function eventName(objectName: string, unixNanos: bigint): string {
  const name = `${objectName}.${unixNanos.toString(16)}`;
  if (isDns1123Subdomain(name).length === 0) return name;
  const sanitized = objectName
    .toLowerCase()
    .slice(0, maxObjectNameLength)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  return `${sanitized === '' ? 'event' : sanitized}.${unixNanos.toString(16)}`;
}

/** Times in the API have whole seconds. */
function eventTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

interface NewEvent {
  readonly object: ObjectReference;
  readonly text: EventText;
  readonly nodeName: string;
  readonly nowMs: number;
  readonly unixNanos: bigint;
}

export function makeEvent(input: NewEvent): Event {
  const { object, text, nodeName, nowMs, unixNanos } = input;
  const time = eventTime(nowMs);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: eventName(object.name ?? '', unixNanos),
      namespace: object.namespace ?? defaultNamespace,
      ...(text.annotations === undefined ? {} : { annotations: text.annotations }),
    },
    involvedObject: object,
    reason: text.reason,
    message: text.message,
    type: text.type,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    source: { component, host: nodeName },
    reportingComponent: component,
    reportingInstance: nodeName,
  };
}
