import { expect, test } from 'vitest';
import { aDisk } from '../../../test/builders/eviction.ts';
import type { NodeSignals } from '../../api/ports/node-usage.ts';
import { computeLayout } from './layout.ts';

function signals(node: string, image: string, container: string): NodeSignals {
  const disk = (device: string): NodeSignals['nodeFs'] => (device === '' ? undefined : aDisk({ device }));
  return {
    memory: undefined,
    kernelAvailableBytes: undefined,
    podMemory: undefined,
    nodeFs: disk(node),
    imageFs: disk(image),
    containerFs: disk(container),
    processes: undefined,
  };
}

test.each([
  ['all on one', 'root', 'root', 'root', true, 'one'],
  ['images and writable layers on their own', 'root', 'data', 'data', true, 'imagefs'],
  ['only images on their own', 'root', 'data', 'root', true, 'split'],
  ['three file systems', 'root', 'data', 'layers', true, 'split'],
  ['only writable layers on their own', 'root', 'root', 'layers', true, 'split'],
  ['only images on their own, gate off', 'root', 'data', 'root', false, 'imagefs'],
  ['only writable layers on their own, gate off', 'root', 'root', 'layers', false, 'one'],
  ['nodefs not measured', '', 'data', 'data', true, undefined],
  ['imagefs not measured', 'root', '', 'data', true, undefined],
  ['containerfs not measured', 'root', 'data', '', true, undefined],
] as const)('%s', (_name, node, image, container, gate, want) => {
  expect(computeLayout(signals(node, image, container), gate)).toBe(want);
});
