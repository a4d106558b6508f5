import { expect, test } from 'vitest';
import { defaultGates } from '../../../src/config/gates/feature-gates.ts';
import { type GateSpec, gateTable } from '../../../src/config/gates/table.ts';
import { declarableFeatures, declaredFeatures } from '../../../src/node/declared-features.ts';
import { facts, settings } from '../../../src/node/fixtures/node-world.ts';
import { generateNode } from '../../../src/node/generate-node.ts';
import { nodeHasChanged } from '../../../src/node/node-patch.ts';

test('declares the implemented features whose gate is on', () => {
  const byDefault = [
    'ExtendWebSocketsToKubelet',
    'InPlacePodLevelResourcesVerticalScaling',
    'InPlacePodVerticalScalingInitContainers',
    'RestartAllContainersOnContainerExits',
  ];
  expect(declaredFeatures(defaultGates)).toEqual(byDefault);
  expect(declaredFeatures({ ...defaultGates, ExtendWebSocketsToKubelet: false })).toEqual(byDefault.slice(1));
});

test('declares nothing that is marked as missing', () => {
  const marked = declarableFeatures.filter((name) => {
    const { effect }: GateSpec = gateTable[name];
    return effect?.kind === 'none-yet' || effect?.kind === 'partly';
  });
  expect(marked).toEqual([]);
});

test('an API server that drops the field does not cause further writes', () => {
  const own = settings({ declaredFeatures: ['ExtendWebSocketsToKubelet'] });
  const { node } = generateNode({ metadata: { name: 'n' } }, own, facts(), 0);
  expect(node.status?.declaredFeatures).toEqual(['ExtendWebSocketsToKubelet']);
  const { declaredFeatures: _dropped, ...status } = node.status ?? {};
  const stored = { ...node, status };
  expect(nodeHasChanged(stored, generateNode(stored, own, facts(), 0).node)).toBe(false);
});
