// Golden bytes of k8s.io/api v1.37.0-rc.1: the JSON decoded into v1.Pod and marshalled by Go.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { podMessages } from './generated/pod-messages.ts';
import { KubernetesProtobuf } from './protobuf.ts';

interface Golden {
  readonly name: string;
  /** JSON. */
  readonly pod: string;
  /** Base64. */
  readonly message: string;
  readonly envelope?: string;
}

const goldens: readonly Golden[] = JSON.parse(
  readFileSync(new URL('golden/pod-protobuf.json', import.meta.url), 'utf8'),
);
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const protobuf = new KubernetesProtobuf();

describe('a pod has the bytes of the Go library', () => {
  for (const { name, pod, message, envelope } of goldens)
    test(name, () => {
      const object = JSON.parse(pod);
      expect(base64(protobuf.encode('Pod', object))).toBe(message);
      if (envelope === undefined) return;
      const typeMeta = { apiVersion: 'v1', kind: 'Pod' };
      expect(base64(protobuf.encodeWithEnvelope(typeMeta, object))).toBe(envelope);
    });
});

const hex = (type: string, object: object): string =>
  Buffer.from(protobuf.encode(type, object)).toString('hex');

describe('a message', () => {
  const cases: readonly (readonly [string, string, object, string])[] = [
    ['writes zero values, but no absent pointers', 'KeyToPath', {}, '0a001200'],
    ['writes a pointer to a zero value', 'KeyToPath', { mode: 0 }, '0a0012001800'],
    ['takes null as absent', 'KeyToPath', { key: null, mode: null }, '0a001200'],
    ['writes a negative number in ten bytes', 'SleepAction', { seconds: -1 }, '08ffffffffffffffffff01'],
    ['writes numbers one by one', 'LinuxContainerUser', { supplementalGroups: [1, 2] }, '0800100018011802'],
    [
      'sorts the keys of a map',
      'FlexVolumeSource',
      { options: { b: '2', a: '1' } },
      '0a00120020002a060a01611201312a060a0162120132',
    ],
    ['writes an embedded struct', 'SecretKeySelector', { name: 'n', key: 'k' }, '0a030a016e12016b'],
    [
      'writes a quantity in canonical form',
      'EmptyDirVolumeSource',
      { sizeLimit: '1024Ki' },
      '0a0012050a03314d69',
    ],
    ['writes a port number', 'TCPSocketAction', { port: 80 }, '0a06080010501a001200'],
    ['writes a port name', 'TCPSocketAction', { port: 'p' }, '0a07080110001a01701200'],
    [
      'writes whole seconds of a time',
      'ContainerStateRunning',
      { startedAt: '1970-01-01T00:00:05.9Z' },
      '0a0408051000',
    ],
    ['writes an absent time as an empty message', 'ContainerStateRunning', {}, '0a00'],
  ];
  for (const [name, type, object, want] of cases) test(name, () => expect(hex(type, object)).toBe(want));

  for (const type of ['Service', 'constructor', ''])
    test(`is refused for the unknown type "${type}"`, () =>
      expect(() => protobuf.encode(type, {})).toThrow(new RangeError(`no protobuf message: ${type}`)));

  test('exists for every type that a pod contains, with readable fields', () => {
    for (const type of Object.keys(podMessages)) expect(() => protobuf.encode(type, {}), type).not.toThrow();
  });
});
