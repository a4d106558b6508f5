// The detail of one pod, encoded. Pure, apart from a cache of encoded objects.
// Invariants: a detail has at most 512 KiB; beyond that the least important parts are left out, and a note names them. Values of
// secrets are not resolved: the pod is shown as its source has it.
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import type { EndView, EventView, PodDetail } from '../../api/ports/node-page.ts';
import { isObject } from '../../base/guards.ts';
import { boundText } from './event-stream.ts';
import { timeOf } from './pod-row.ts';

const maxDetailBytes = 512 * 1024;
const textLength = 1_024;
const lineLength = 400;
const maxLines = 20;

/** By object: the spec of a pod seldom changes, and it may be large. */
export type EncodedObjects = WeakMap<object, string>;

type DetailParts = Omit<PodDetail, 'pod' | 'note'>;

/** Sacrificed in this order. */
const optional = ['pod', 'ends', 'events', 'probes', 'starts', 'volumes', 'containers'] as const;

export function encodeDetail(
  parts: DetailParts,
  pod: Pod,
  status: PodStatus | undefined,
  encoded: EncodedObjects,
): string {
  const texts = new Map(Object.entries(parts).map(([name, value]) => [name, JSON.stringify(value)]));
  texts.set('pod', podText(pod, status ?? pod.status, encoded));
  const left: string[] = [];
  for (const name of optional) {
    if (lengthOf(texts) <= maxDetailBytes) break;
    texts.set(name, name === 'pod' ? briefPod(pod) : '[]');
    left.push(name);
  }
  if (left.length > 0) texts.set('note', JSON.stringify(`too large to be shown: ${left.join(', ')}`));
  return `{${[...texts].map(([name, text]) => `"${name}":${text}`).join(',')}}`;
}

function lengthOf(texts: ReadonlyMap<string, string>): number {
  return [...texts.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function podText(pod: Pod, status: PodStatus | undefined, encoded: EncodedObjects): string {
  const { managedFields: _, ...metadata } = pod.metadata ?? {};
  const fields = [
    '"apiVersion":"v1"',
    '"kind":"Pod"',
    `"metadata":${JSON.stringify(metadata)}`,
    ...(pod.spec === undefined ? [] : [`"spec":${textOf(pod.spec, encoded)}`]),
    ...(status === undefined ? [] : [`"status":${textOf(status, encoded)}`]),
  ];
  return `{${fields.join(',')}}`;
}

function briefPod({ metadata: { name, namespace, uid } = {} }: Pod): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid } });
}

function textOf(object: object, encoded: EncodedObjects): string {
  const known = encoded.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify(object);
  encoded.set(object, text);
  return text;
}

export interface PodEvent {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly fieldPath?: string;
  readonly count: number;
  readonly lastTimestamp: string;
}

/** Newest first. */
export function eventViews(events: readonly PodEvent[]): readonly EventView[] {
  return events.toReversed().map(({ count, fieldPath = '', lastTimestamp, message, reason, type }) => ({
    type: boundText(type, textLength),
    reason: boundText(reason, textLength),
    message: boundText(message, textLength),
    count,
    lastMs: timeOf(lastTimestamp) ?? 0,
    about: boundText(fieldPath, textLength),
  }));
}

/** Of the lines of the history; a line that is no record is omitted. */
export function endViews(lines: readonly string[]): readonly EndView[] {
  return lines.flatMap((line) => {
    const record = parsed(line);
    return isObject(record) ? [endView(record)] : [];
  });
}

function endView(record: Readonly<Record<string, unknown>>): EndView {
  const text = (name: string): string | undefined => {
    const value = record[name];
    return typeof value === 'string' ? boundText(value, textLength) : undefined;
  };
  const { exitCode, lastLines } = record;
  return {
    id: text('id') ?? '',
    atMs: timeOf(text('time') ?? '') ?? 0,
    kind: text('kind') ?? '',
    container: text('container'),
    cause: text('cause') ?? '',
    rule: text('rule'),
    exitCode: typeof exitCode === 'number' ? exitCode : undefined,
    lastLines: Array.isArray(lastLines)
      ? lastLines.slice(-maxLines).map((line) => boundText(String(line), lineLength))
      : undefined,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
