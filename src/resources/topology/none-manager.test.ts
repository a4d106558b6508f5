import { expect, test } from 'vitest';
import type { Component } from '../../base/component.ts';
import { decodeCpuState, encodeCpuState } from '../cpu/cpu-state.ts';
import { decodeMemoryState, encodeMemoryState } from '../memory/memory-state.ts';
import { cpuManager, memoryManager } from './none-manager.ts';

/** As Go kubelets up to v1.36 write and read them, and as v1.37 does. */
const cpuFiles = [
  ['no entries', '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'],
  ['a default set', '{"policyName":"none","defaultCPUSet":"4-6","entries":{},"checksum":354655845}'],
  [
    'assignments',
    '{"policyName":"none","defaultCPUSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},"checksum":3610638499}',
  ],
  ['the checksum of the first format', '{"policyName":"none","defaultCPUSet":"1-3","checksum":1694838852}'],
  ['no checksum', '{"policyName":"none","defaultCPUSet":"1-3"}'],
  [
    'data, which alone counts',
    '{"policyName":"other","defaultCPUSet":"1-9","checksum":1234,"data":"{\\"policyName\\":\\"none\\",\\"defaultCPUSet\\":\\"4-6\\"}","dataChecksum":657950972}',
  ],
] as const;
/** The file of v1.37 without assignments. */
const emptyCpu =
  '{"policyName":"none","defaultCpuSet":"","checksum":1353318690,"data":"{\\"policyName\\":\\"none\\",\\"defaultCpuSet\\":\\"\\"}","dataChecksum":3028111495}';
for (const [name, text] of cpuFiles)
  test(`decodes cpu_manager_state with ${name}`, () => {
    const state = decodeCpuState(text);
    expect(state.policyName).toBe('none');
    expect(decodeCpuState(encodeCpuState(state))).toEqual(state);
  });

test('encodes cpu_manager_state byte for byte', () => {
  expect(encodeCpuState({ policyName: 'none', defaultCpuSet: '', entries: {} })).toBe(emptyCpu);
  const body =
    '"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}}';
  const text = encodeCpuState(decodeCpuState(`{${body},"checksum":3610638499}`));
  // Earlier kubelets read the part up to the checksum.
  expect(text.startsWith(`{${body},"checksum":3610638499,"data":`)).toBe(true);
  expect((JSON.parse(text) as { data: string }).data).toBe(`{${body}}`);
  expect(encodeCpuState(decodeCpuState(text))).toBe(text);
});

const memoryFile =
  '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":4215593881}';

test('decodes and encodes memory_manager_state byte for byte', () => {
  const state = decodeMemoryState(memoryFile);
  const text = encodeMemoryState(state);
  const body = memoryFile.slice(0, memoryFile.indexOf(',"checksum"'));
  expect(JSON.parse(text)).toEqual({
    ...(JSON.parse(memoryFile) as object),
    data: `${body}}`,
    dataChecksum: 1849615440,
  });
  expect(text.startsWith(memoryFile.slice(0, -1))).toBe(true);
  expect(decodeMemoryState(text)).toEqual(state);
  const none = '{"policyName":"None","machineState":{},"checksum":4236770233}';
  expect(decodeMemoryState(none)).toEqual({ policyName: 'None', machineState: {}, entries: {} });
});

test('the data alone counts in a memory_manager_state of v1.37', () => {
  const file = JSON.parse(encodeMemoryState(decodeMemoryState(memoryFile))) as object;
  const text = JSON.stringify({ ...file, policyName: 'other', machineState: {}, checksum: 1234 });
  expect(decodeMemoryState(text)).toEqual(decodeMemoryState(memoryFile));
});

const damaged = [
  ['{"policyName":"none","defaultCpuSet":"4-6","checksum":1337}', 'checkpoint is corrupted'],
  ['{"policyName":"none","defaultCpuSet":"","entries":{"pod":"0"},"checksum":1}', 'checkpoint is corrupted'],
  ['{', 'it is not JSON'],
] as const;
for (const [text, why] of damaged)
  test(`rejects a corrupt file: ${text}`, () => {
    expect(() => decodeCpuState(text)).toThrow(why);
    expect(() => decodeMemoryState(text)).toThrow(why);
  });

const body = '"policyName":"none","defaultCpuSet":"","machineState":{}';
const untrusted = [
  ['no data', `{${body},"checksum":1353318690,"dataChecksum":1234}`],
  ['no checksum of the data', `{${body},"checksum":1353318690,"data":"{\\"policyName\\":\\"none\\"}"}`],
  ['another checksum of the data', `{${body},"checksum":1353318690,"data":"{}","dataChecksum":1234}`],
  ['data that is no text', `{${body},"checksum":1353318690,"data":7,"dataChecksum":1234}`],
] as const;
for (const [name, text] of untrusted)
  test(`a file of v1.37 with ${name} is corrupt, although the part for earlier releases is not`, () => {
    expect(() => decodeCpuState(text)).toThrow('could not load v4 checkpoint: checkpoint is corrupted');
    expect(() => decodeMemoryState(text)).toThrow('could not load v3 checkpoint: checkpoint is corrupted');
  });

const managers = [
  ['cpu', cpuManager, 'cpu_manager_state', 'none', 'static', emptyCpu],
  [
    'memory',
    memoryManager,
    'memory_manager_state',
    'None',
    'Static',
    encodeMemoryState({ policyName: 'None', machineState: {}, entries: {} }),
  ],
] as const;
for (const [name, make, file, none, other, empty] of managers) {
  const files = new Map<string, string>();
  const start = (policy: string): ReturnType<Component['start']> =>
    make({
      files: {
        read: async (path) => files.get(path),
        write: async (path, text) => void files.set(path, text),
      },
      rootDir: '/root',
      policy,
    }).start(new AbortController().signal);

  test(`the ${name} manager writes its state file once and adopts it after a restart`, async () => {
    await start(none);
    expect([...files]).toEqual([[`/root/${file}`, empty]]);
    await start(none);
  });

  test(`the ${name} manager rewrites the file of an earlier release, and no other`, async () => {
    const old =
      name === 'cpu' ? cpuFiles[0][1] : '{"policyName":"None","machineState":{},"checksum":4236770233}';
    files.set(`/root/${file}`, old);
    await start(none);
    expect(files.get(`/root/${file}`)).toBe(empty);
  });

  test(`the ${name} manager rejects a policy that is not supported`, async () => {
    await expect(start(other)).rejects.toThrow(
      /ManagerPolicy .*the policy ".tatic" is not supported; use "[nN]one"/,
    );
  });

  test(`the ${name} manager rejects the state file of another policy`, async () => {
    const state = { policyName: 'other', defaultCpuSet: '', machineState: {}, entries: {} };
    files.set(`/root/${file}`, name === 'cpu' ? encodeCpuState(state) : encodeMemoryState(state));
    const owner = name === 'cpu' ? 'the CPU manager' : 'the memory manager';
    await expect(start(none)).rejects.toThrow(
      `configured policy "${none}" differs from state checkpoint policy "other", please drain this node and delete ${owner} checkpoint file "/root/${file}" before restarting Kubelet`,
    );
    files.set(`/root/${file}`, 'x');
    await expect(start(none)).rejects.toThrow('could not restore state from checkpoint: it is not JSON');
  });
}
