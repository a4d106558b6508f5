// Converts the recorded CRI calls into the compact form: differences from the plain request of test/replay/base.json.
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../src/base/guards.ts';
import type { CallRecord } from '../../test/fake-cri/gate.ts';
import { plainCalls } from '../../test/replay/plain-calls.ts';
import { type Fields, mergedRequest, type PlainRequests } from '../../test/replay/recording.ts';
import type { RecordedCall } from './recorded.ts';

/** Fields with user-defined keys, which keep their spelling. */
const maps: ReadonlySet<string> = new Set(['labels', 'annotations', 'sysctls', 'unified']);
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
const tokenVolume = '/volumes/kubernetes.io~projected/kube-api-access-';

const enums: ReadonlyMap<string, number> = new Map([
  ['pid:CONTAINER', 1],
  ['pid:NODE', 2],
  ['pid:TARGET', 3],
  ['ipc:NODE', 2],
  ['network:NODE', 2],
  ['mode:NODE', 2],
  ['profile_type:Unconfined', 1],
  ['profile_type:Localhost', 2],
  ['propagation:PROPAGATION_HOST_TO_CONTAINER', 1],
  ['propagation:PROPAGATION_BIDIRECTIONAL', 2],
]);

/** Without removals and repeated probes. */
export function compactCalls(
  calls: readonly RecordedCall[],
  podName: string,
  plain: PlainRequests,
): readonly (readonly unknown[])[] {
  const records = calls.map(
    ({ call, request, response = {} }): CallRecord => ({
      method: call,
      request: ourForm(request),
      response: ourForm(response),
      atMs: 0,
    }),
  );
  return plainCalls(records, { uid: 'UID', rootDir: 'ROOT', imageId: (id) => id }).map((call) => {
    const [method, name] = call;
    if (method === 'RunPodSandbox') {
      return [method, difference(mergedRequest(plain.sandbox, {}, podName, ''), call[1] as Fields)];
    }
    if (method !== 'CreateContainer') return call;
    const plainContainer = mergedRequest(plain.container, {}, podName, String(name));
    return [method, name, difference(plainContainer, call[2] as Fields)];
  });
}

/** The fields of `actual` that differ, and null for those it lacks. */
function difference(plain: Fields, actual: Fields): Fields {
  const paths = [...new Set([...Object.keys(plain), ...Object.keys(actual)])].toSorted();
  const different = paths.filter((path) => !isDeepStrictEqual(plain[path], actual[path]));
  return Object.fromEntries(different.map((path) => [path, actual[path] ?? null]));
}

function ourForm(message: object): object {
  return Object.fromEntries(
    Object.entries(message).map(([key, value]: [string, unknown]) => [camelCase(key), ourValue(key, value)]),
  );
}

function ourValue(key: string, value: unknown): unknown {
  if (typeof value === 'string') return enums.get(`${key}:${value}`) ?? value;
  if (key === 'envs') return (value as { key: string; value?: string }[]).map(decodedVariable);
  if (Array.isArray(value)) return ourList(value);
  if (!isObject(value)) return value;
  if (!maps.has(key)) return ourForm(value);
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== lastApplied));
}

/** Without the mount of the service account's token: the pods of the replay have none. */
function ourList(list: readonly unknown[]): readonly unknown[] {
  return list
    .filter((each) => !(isObject(each) && String(each['host_path']).includes(tokenVolume)))
    .map((each) => (isObject(each) ? ourForm(each) : each));
}

function decodedVariable({ key, value = '' }: { key: string; value?: string }): object {
  return { key, value: Buffer.from(value, 'base64').toString('utf8') };
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
