import { describe, expect, test } from 'vitest';
import { defaultGates, gateSamples, resolveGates } from './feature-gates.ts';
import { gateTable } from './table.ts';

describe('resolveGates', () => {
  test('AllAlpha switches every alpha gate that is not set explicitly', () => {
    const { gates } = resolveGates({ AllAlpha: true, EnvFiles: false });
    expect([gates.EventedPLEG, gates.EnvFiles, gates.ImageVolume, gates.AllAlpha]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  test('AllBeta=false switches every beta gate off, and no other', () => {
    const { gates } = resolveGates({ AllBeta: false, KubeletPSI: true });
    const stillOn = Object.entries(gateTable).filter(
      ([name, { stage }]) => stage === 'BETA' && gates[name as never],
    );
    expect([stillOn.map(([name]) => name), gates.NodeSwap]).toEqual([['KubeletPSI'], true]);
  });

  test('AllBeta=true switches the beta gates on that are off by default', () => {
    expect([defaultGates.ImageVolume, resolveGates({ AllBeta: true }).gates.ImageVolume]).toEqual([
      false,
      true,
    ]);
  });

  test('reports all unknown and locked gates and changes nothing', () => {
    const { problems, gates } = resolveGates({
      Nope: true,
      NodeSwap: false,
      MemoryManager: false,
      toString: true,
    });
    expect(problems.map(({ message }) => message)).toEqual([
      'MemoryManager is locked to true and cannot be set to false',
      'NodeSwap is locked to true and cannot be set to false',
      'unknown feature gate Nope',
      'unknown feature gate toString',
    ]);
    expect(gates).toEqual(defaultGates);
  });

  test('warns when a stable or deprecated gate is set', () => {
    const { warnings, gates } = resolveGates({ NodeSwap: true, KMSv1: true, ImageVolume: true });
    expect([warnings, gates.KMSv1]).toEqual([
      [
        'Feature gate KMSv1=true was set although it is deprecated; it will be removed in a later release.',
        'Feature gate NodeSwap=true was set although it is generally available; it will be removed in a later release.',
      ],
      true,
    ]);
  });
});

test('the metric has a sample for every gate', () => {
  const samples = gateSamples(resolveGates({ EnvFiles: true }).gates);
  expect(samples).toHaveLength(Object.keys(gateTable).length);
  expect(samples).toContainEqual({ name: 'EnvFiles', stage: 'ALPHA', enabled: true });
  expect(samples).toContainEqual({ name: 'NodeSwap', stage: '', enabled: true });
});
