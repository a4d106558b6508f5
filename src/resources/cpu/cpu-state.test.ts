import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CpuAssignments, parseCpuState } from './cpu-assignments.ts';
import { decodeCpuState, encodeCpuState } from './cpu-state.ts';

const golden = readFileSync(new URL('golden/cpu_manager_state', import.meta.url), 'utf8');

test('writes the file of the Go kubelet v1.37 byte for byte', () => {
  const stored = parseCpuState(decodeCpuState(golden));
  expect(encodeCpuState(new CpuAssignments(stored).toState('static'))).toBe(golden);
});

test('reads the file of the Go kubelet up to v1.36, which is the beginning of the same', () => {
  const old = `${golden.slice(0, golden.indexOf(',"data"'))}}`;
  expect(decodeCpuState(old)).toEqual(decodeCpuState(golden));
});
