import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fnv1a32 } from '../../api/pod/fnv.ts';
import { decodeMemoryState, encodeMemoryState } from './memory-state.ts';

/** Written by upstream's code of v1.37.0-rc.1: two NUMA nodes, three pods, two sizes of huge pages; u1 also with pod entries. */
const files = JSON.parse(readFileSync(new URL('golden/state-files.json', import.meta.url), 'utf8')) as Record<
  'none' | 'empty' | 'v1' | 'v2' | 'v2NoPods' | 'v3',
  string
>;

for (const name of ['none', 'empty', 'v3'] as const)
  test(`reads and writes a file of v1.37 byte for byte: ${name}`, () => {
    expect(encodeMemoryState(decodeMemoryState(files[name]))).toBe(files[name]);
  });

for (const name of ['v1', 'v2', 'v2NoPods'] as const)
  test(`reads a file of an earlier format, and writes it as v1.37: ${name}`, () => {
    expect(encodeMemoryState(decodeMemoryState(files[name]))).toBe(files.v3);
  });

test('accepts a file of the first format without a checksum', () => {
  const { checksum: _, ...fields } = JSON.parse(files.v1) as Record<string, unknown>;
  expect(encodeMemoryState(decodeMemoryState(JSON.stringify(fields)))).toBe(files.v3);
});

test('rejects a file of any format with one wrong byte of content', () => {
  for (const name of ['v1', 'v2', 'v2NoPods'] as const)
    expect(() => decodeMemoryState(files[name].replace('"size":107374182', '"size":107374183'))).toThrow(
      'checkpoint is corrupted',
    );
  expect(() =>
    decodeMemoryState(files.v3.replaceAll('\\"type\\":\\"memory', '\\"type\\":\\"Memory')),
  ).toThrow('could not load v3 checkpoint: checkpoint is corrupted');
});

/** With a matching checksum of the data, so that only its shape is wrong. */
function withData(data: string): string {
  return JSON.stringify({ data, dataChecksum: fnv1a32(`(string)${data}`) });
}

const foreign = [
  ['entries as a list', '{"policyName":"Static","entries":[]}'],
  ['a pod as text', '{"policyName":"Static","entries":{"u":"0-3"}}'],
  ['a container as an object', '{"policyName":"Static","entries":{"u":{"c":{}}}}'],
  ['a block as text', '{"policyName":"Static","entries":{"u":{"c":["memory"]}}}'],
  ['a size as text', '{"policyName":"Static","entries":{"u":{"c":[{"size":"1"}]}}}'],
  ['a fractional size', '{"policyName":"Static","entries":{"u":{"c":[{"size":1.5}]}}}'],
  ['a machine state of text', '{"policyName":"Static","machineState":{"0":"all"}}'],
  ['a policy that is no text', '{"policyName":1}'],
  ['no policy', '{"kind":"Pod"}'],
] as const;
for (const [name, data] of foreign)
  test(`rejects a state of another shape, although its checksum matches: ${name}`, () => {
    expect(() => decodeMemoryState(withData(data))).toThrow('checkpoint is corrupted');
  });

test('reads absent fields as zero, and names that every object has as ordinary ones', () => {
  const text = withData(
    '{"policyName":"Static","entries":{"__proto__":{"constructor":[{"type":"memory"}]}},"machineState":null}',
  );
  const { entries, machineState, policyName } = decodeMemoryState(text);
  expect([policyName, machineState]).toEqual(['Static', {}]);
  expect(Object.keys(entries)).toEqual(['__proto__']);
  expect(encodeMemoryState(decodeMemoryState(text))).toContain(
    '"entries":{"__proto__":{"constructor":[{"numaAffinity":[],"type":"memory","size":0}]}}',
  );
});
