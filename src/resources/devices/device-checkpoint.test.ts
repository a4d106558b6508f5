// golden/upstream-checkpoints.json was written by upstream's code (v1.37.0-rc.1).
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  type DeviceCheckpoint,
  decodeDeviceCheckpoint,
  encodeDeviceCheckpoint,
  renderEntry,
} from './device-checkpoint.ts';

const files: readonly string[] = JSON.parse(
  readFileSync(new URL('golden/upstream-checkpoints.json', import.meta.url), 'utf8'),
);
const [gpu = '', , , allocated = '', odd = ''] = files;

function encode({ entries, registered }: DeviceCheckpoint): string {
  return encodeDeviceCheckpoint(entries.map(renderEntry), registered);
}

for (const [index, text] of files.entries())
  test(`decodes file ${index} of the Go kubelet, and its own encoding of it`, () => {
    const state = decodeDeviceCheckpoint(text);
    expect(decodeDeviceCheckpoint(encode(state))).toEqual(state);
  });

test('encodes byte for byte as the Go kubelet', () => {
  expect(gpu).toContain('"Checksum":3952659280}');
  for (const text of [gpu, allocated]) expect(encode(decodeDeviceCheckpoint(text))).toBe(text);
});

test('decodes pods, NUMA nodes and responses', () => {
  const [entry] = decodeDeviceCheckpoint(allocated).entries;
  expect(entry).toMatchObject({
    podUid: '2a9f3c1e-0000-4000-8000-000000000001',
    container: 'app',
    resource: 'example.com/gpu',
  });
  expect([...(entry?.devices ?? [])].toSorted(([a], [b]) => a - b)).toEqual([
    [0, ['gpu-1', 'gpu-2']],
    [1, ['gpu-2']],
    [2, ['gpu-4']],
    [10, ['gpu-3']],
  ]);
  expect(entry?.response.length).toBeGreaterThan(50);
});

test('the checksum covers null lists, negative nodes, escaped and non-ASCII text', () => {
  const { entries, registered } = decodeDeviceCheckpoint(odd);
  expect(entries.map(({ devices }) => devices.size)).toEqual([1, 5, 0]);
  expect(registered.get('z/a')).toEqual([]);
});

test('sorts the devices of an entry and the registered ones', () => {
  const entry = {
    podUid: 'p',
    container: 'c',
    resource: 'r/r',
    devices: new Map([[-1, ['b', 'a']]]),
    response: new Uint8Array([1]),
  };
  const text = encodeDeviceCheckpoint(
    [renderEntry(entry)],
    new Map([
      ['z/z', ['2', '1']],
      ['a/a', []],
    ]),
  );
  expect(text).toContain('"DeviceIDs":{"-1":["a","b"]},"AllocResp":"AQ=="');
  expect(text).toContain('"RegisteredDevices":{"a/a":[],"z/z":["1","2"]}');
});

const damaged = [
  ['truncated', allocated.slice(0, -20), 'it is not JSON'],
  ['empty', '', 'it is not JSON'],
  ['of another kind', '{"policyName":"none"}', 'checkpoint is corrupted'],
  ['with another checksum', gpu.replace('3952659280', '1'), 'checkpoint is corrupted'],
  ['with another device', gpu.replace('GPU-0650', 'GPU-0651'), 'checkpoint is corrupted'],
  [
    'of the first format, with a list of devices',
    '{"Data":{"PodDeviceEntries":[{"PodUID":"p","ContainerName":"c","ResourceName":"r","DeviceIDs":["a"],"AllocResp":""}],"RegisteredDevices":{}},"Checksum":1}',
    'checkpoint is corrupted',
  ],
] as const;
for (const [name, text, why] of damaged)
  test(`rejects a checkpoint ${name}`, () => {
    expect(() => decodeDeviceCheckpoint(text)).toThrow(why);
  });
