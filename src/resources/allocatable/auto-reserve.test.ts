import { describe, expect, test } from 'vitest';
import { computeAutoReserve } from './auto-reserve.ts';

const gibibyte = 1024n ** 3n;
const explicitNone = { kubeReserved: {}, systemReserved: {}, reservedSystemCPUs: '' };
const machine = (over: object = {}) => ({
  cpus: 2,
  memoryBytes: 4n * gibibyte,
  storageBytes: 50n * gibibyte,
  hugePages: [],
  maxProcesses: 32_768n,
  ...over,
});

describe('computeAutoReserve', () => {
  const memory: readonly (readonly [bigint, string])[] = [
    [1n, '256Mi'],
    [4n, '1024Mi'],
    [8n, '1843Mi'],
    [16n, '2662Mi'],
    [128n, '9543Mi'],
    [256n, '12165Mi'],
  ];
  for (const [size, reserved] of memory)
    test(`of ${size} GiB of memory`, () => {
      const given = machine({ memoryBytes: size * gibibyte });
      expect(computeAutoReserve(given, explicitNone)).toMatchObject({ memory: reserved });
    });

  const cpus: readonly (readonly [number, string])[] = [
    [1, '60m'],
    [2, '70m'],
    [3, '75m'],
    [4, '80m'],
    [5, '83m'],
    [8, '90m'],
    [96, '310m'],
  ];
  for (const [count, cpu] of cpus)
    test(`of ${count} CPUs`, () =>
      expect(computeAutoReserve(machine({ cpus: count }), explicitNone)).toMatchObject({ cpu }));

  const others: readonly (readonly [string, object, object])[] = [
    ['a small disk', { storageBytes: 20n * gibibyte }, { 'ephemeral-storage': '2048Mi' }],
    ['a large disk', { storageBytes: 2_000n * gibibyte }, { 'ephemeral-storage': '10240Mi' }],
    ['few processes', { maxProcesses: 4_096n }, { pid: '409' }],
    ['many processes', { maxProcesses: 4_194_304n }, { pid: '1000' }],
  ];
  for (const [name, over, reserved] of others)
    test(`of ${name}`, () => expect(computeAutoReserve(machine(over), explicitNone)).toMatchObject(reserved));

  const explicit: readonly (readonly [string, object, readonly string[]])[] = [
    ['nothing', {}, ['cpu', 'memory', 'ephemeral-storage', 'pid']],
    ['kubeReserved', { kubeReserved: { memory: '1Gi' } }, ['cpu', 'ephemeral-storage', 'pid']],
    ['systemReserved, with 0', { systemReserved: { cpu: '0', pid: '5' } }, ['memory', 'ephemeral-storage']],
    ['reservedSystemCPUs', { reservedSystemCPUs: '0' }, ['memory', 'ephemeral-storage', 'pid']],
  ];
  for (const [name, over, reserved] of explicit)
    test(`leaves to the configuration what ${name} sets`, () =>
      expect(Object.keys(computeAutoReserve(machine(), { ...explicitNone, ...over }))).toEqual(reserved));

  test('reserves nothing of an unknown capacity', () =>
    expect(
      computeAutoReserve(machine({ storageBytes: undefined, maxProcesses: undefined }), explicitNone),
    ).toEqual({ cpu: '70m', memory: '1024Mi' }));
});
