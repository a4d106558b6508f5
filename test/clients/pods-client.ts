// Reads what the Pods API sends: events and pods, decoded field by field, without the kubelet's own encoder.
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { EventType, WatchPodsEvent } from '../../src/api/kubelet/generated/pods/v1alpha1/api.ts';

/** The fields of a pod that tests check. */
interface ReadPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly labels: number;
  readonly containers: number;
  readonly phase: string;
  /** The status of the condition Ready; empty without one. */
  readonly ready: string;
}

/** A serialized k8s.io.api.core.v1.Pod. */
export function readPod(bytes: Uint8Array): ReadPod {
  const { metadata, spec, status } = messages(bytes, { 1: 'metadata', 2: 'spec', 3: 'status' });
  const meta = messages(metadata?.[0], { 1: 'name', 3: 'namespace', 5: 'uid', 11: 'labels' });
  const own = messages(status?.[0], { 1: 'phase', 2: 'conditions' });
  const conditions = (own['conditions'] ?? []).map((each) => messages(each, { 1: 'type', 2: 'status' }));
  const ready = conditions.find(({ type }) => text(type) === 'Ready');
  return {
    name: text(meta['name']),
    namespace: text(meta['namespace']),
    uid: text(meta['uid']),
    labels: meta['labels']?.length ?? 0,
    containers: messages(spec?.[0], { 2: 'containers' })['containers']?.length ?? 0,
    phase: text(own['phase']),
    ready: text(ready?.['status']),
  };
}

/** `ADDED web Running Ready=True` */
export function eventLine(bytes: Uint8Array): string {
  const { pod, type } = WatchPodsEvent.decode(bytes);
  const name = Object.entries(EventType).find(([, value]) => value === type)?.[0] ?? String(type);
  if (pod.length === 0) return name;
  const read = readPod(pod);
  const state = [read.phase, read.ready === '' ? '' : `Ready=${read.ready}`].filter((each) => each !== '');
  return [name, read.name, ...state].join(' ');
}

type Fields = Readonly<Record<string, readonly Uint8Array[] | undefined>>;

/** The length-delimited fields with these numbers, in the order in which they appear. */
function messages(bytes: Uint8Array | undefined, names: Readonly<Record<number, string>>): Fields {
  const fields: Record<string, Uint8Array[]> = {};
  const reader = new BinaryReader(bytes ?? new Uint8Array());
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const name = names[number];
    if (name === undefined) reader.skip(wireType);
    else (fields[name] ??= []).push(reader.bytes());
  }
  return fields;
}

function text(values: readonly Uint8Array[] | undefined): string {
  return new TextDecoder().decode(values?.[0]);
}
