import { describe, expect, test } from 'vitest';
import { gateDependencies } from './dependencies.ts';
import { defaultGates, gateSamples, resolveGates } from './feature-gates.ts';
import { removedGates } from './removed-gates.ts';
import { type GateName, gateTable } from './table.ts';

const messages = (set: Readonly<Record<string, boolean>>): readonly string[] =>
  resolveGates(set).problems.map(({ message }) => message);

describe('resolveGates', () => {
  test('AllAlpha switches every alpha gate that is not set explicitly', () => {
    const { gates } = resolveGates({ AllAlpha: true, QOSReserved: false });
    expect([gates.ContainerStopSignals, gates.QOSReserved, gates.GenericWorkload, gates.AllAlpha]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  test('AllBeta=false switches every beta gate off, and no other', () => {
    const { gates } = resolveGates({ AllBeta: false, PodsAPI: true });
    const stillOn = Object.entries(gateTable).filter(
      ([name, { stage }]) => stage === 'BETA' && gates[name as never],
    );
    expect([stillOn.map(([name]) => name), gates.NodeSwap]).toEqual([['PodsAPI'], true]);
  });

  test('AllBeta=true switches the beta gates on that are off by default', () => {
    const { gates } = resolveGates({ AllBeta: true });
    expect([defaultGates.GenericWorkload, gates.GenericWorkload]).toEqual([false, true]);
  });

  test('reports all unknown and locked gates and changes nothing', () => {
    const { problems, gates } = resolveGates({
      Nope: true,
      NodeSwap: false,
      ImageVolume: false,
      toString: true,
    });
    expect(problems.map(({ message }) => message)).toEqual([
      'cannot set feature gate ImageVolume to false, feature is locked to true',
      'cannot set feature gate NodeSwap to false, feature is locked to true',
      'unrecognized feature gate: Nope',
      'unrecognized feature gate: toString',
    ]);
    expect(gates).toEqual(defaultGates);
  });

  test('names the release that removed a gate', () => {
    expect(messages({ MemoryManager: true, CSIMigrationPortworx: true, SidecarContainers: true })).toEqual([
      'unrecognized feature gate: CSIMigrationPortworx (Kubernetes v1.36 removed it; remove the setting)',
      'unrecognized feature gate: MemoryManager (Kubernetes v1.36 removed it; remove the setting)',
      'unrecognized feature gate: SidecarContainers (Kubernetes v1.37 removed it; remove the setting)',
    ]);
  });

  test('warns when a stable or deprecated gate is set', () => {
    const { warnings, gates } = resolveGates({ NodeSwap: true, KMSv1: true, ContainerStopSignals: true });
    expect([warnings, gates.KMSv1]).toEqual([
      [
        'Feature gate KMSv1=true was set although it is deprecated; it will be removed in a later release.',
        'Feature gate NodeSwap=true was set although it is generally available; it will be removed in a later release.',
      ],
      true,
    ]);
  });
});

describe('dependencies', () => {
  test('hold by default', () => expect(messages({})).toEqual([]));

  test('a gate that is on needs its prerequisites, whether it is on by default or was set', () => {
    expect(messages({ ContainerRestartRules: false, WorkloadWithJob: true })).toEqual([
      'RestartAllContainersOnContainerExits is enabled, but depends on features that are disabled: [ContainerRestartRules]',
      'WorkloadWithJob is enabled, but depends on features that are disabled: [GenericWorkload]',
    ]);
    expect(messages({ ContainerRestartRules: false, RestartAllContainersOnContainerExits: false })).toEqual(
      [],
    );
  });

  test('lists all the missing prerequisites of a gate', () => {
    expect(messages({ CompositePodGroup: true })).toEqual([
      'CompositePodGroup is enabled, but depends on features that are disabled: [GenericWorkload TopologyAwareWorkloadScheduling]',
    ]);
  });

  test('AllAlpha alone fails on alpha gates that need a beta gate which is off', () => {
    expect(messages({ AllAlpha: true })).toContain(
      'WorkloadWithJob is enabled, but depends on features that are disabled: [GenericWorkload]',
    );
    const both = messages({ AllAlpha: true, AllBeta: true });
    expect(both.filter((message) => message.includes('depends on'))).toEqual([]);
  });

  test('are not examined when a gate is unknown or locked', () => {
    expect(messages({ AllAlpha: true, Nope: true })).toEqual(['unrecognized feature gate: Nope']);
  });

  test('a gate never needs one of a lower stage', () => {
    const rank = { ALPHA: 0, BETA: 1, DEPRECATED: 2, '': 2 } as const;
    const wrong = Object.entries(gateDependencies).flatMap(([name, needed]) =>
      needed.filter((other) => rank[gateTable[other].stage] < rank[gateTable[name as never]['stage']]),
    );
    expect(wrong).toEqual([]);
  });
});

describe('a gate that guards something unimplemented', () => {
  const isMissing = (name: string): boolean => {
    const { default: isDefault, effect, locked } = gateTable[name as GateName];
    return !isDefault && !locked && effect?.kind === 'none-yet';
  };
  const missing = Object.keys(gateTable).filter(isMissing);

  test('cannot be enabled by name', () => {
    expect(messages({ QOSReserved: true, RuntimeClassInImageCriApi: true })).toEqual([
      'RuntimeClassInImageCriApi cannot be enabled: this kubelet does not implement it (missing: image pulls by runtime class)',
    ]);
    const accepted = missing.filter(
      (name) => !messages({ [name]: true }).some((each) => each.startsWith(`${name} cannot be enabled`)),
    );
    expect(accepted).toEqual([]);
  });

  test('may be set to what it is, and gates of other components may be enabled', () => {
    expect(messages(Object.fromEntries(missing.map((name) => [name, false])))).toEqual([]);
    expect(messages({ StatefulSetRecreateStrategy: true })).toEqual([]);
  });

  test('keeps AllAlpha and AllBeta from being enabled, unless it is set to false', () => {
    const of = (stage: string): string =>
      missing.filter((name) => gateTable[name as GateName].stage === stage).join(' ');
    expect(messages({ AllAlpha: true, AllBeta: true })).toEqual([
      `AllAlpha enables features that this kubelet does not implement; set them to false: [${of('ALPHA')}]`,
      `AllBeta enables features that this kubelet does not implement; set them to false: [${of('BETA')}]`,
    ]);
    const off = Object.fromEntries(missing.map((name) => [name, false]));
    expect(messages({ AllAlpha: true, AllBeta: true, ...off })).toEqual([]);
  });
});

test('no gate of this release is listed as removed', () => {
  expect([...removedGates.keys()].filter((name) => name in gateTable)).toEqual([]);
});

test('the metric has a sample for every gate', () => {
  const samples = gateSamples(resolveGates({ ContainerStopSignals: true }).gates);
  expect(samples).toHaveLength(Object.keys(gateTable).length);
  expect(samples).toContainEqual({ name: 'ContainerStopSignals', stage: 'ALPHA', enabled: true });
  expect(samples).toContainEqual({ name: 'NodeSwap', stage: '', enabled: true });
});
