import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { emptyDirMedium } from './empty-dir.ts';

const gi = 1_073_741_824n;
const limited = (...memory: readonly (string | undefined)[]) =>
  aPod({
    containers: memory.map((limit, at) =>
      aContainer({ name: `c${at}`, resources: limit === undefined ? {} : { limits: { memory: limit } } }),
    ),
  });
const paged = (...names: readonly string[]) =>
  aPod({
    containers: names.map((name, at) =>
      aContainer({ name: `c${at}`, resources: { requests: { [name]: '4Mi' } } }),
    ),
  });

const cases = [
  ['disk', limited('1Gi'), {}, { kind: 'disk' }],
  [
    'no limit anywhere: what the node has',
    limited(undefined),
    { medium: 'Memory' },
    { kind: 'memory', sizeBytes: 8n * gi },
  ],
  ['its own', limited(undefined), { medium: 'Memory', sizeLimit: '1Gi' }, { kind: 'memory', sizeBytes: gi }],
  ['the pod’s', limited('1Gi', '2Gi'), { medium: 'Memory' }, { kind: 'memory', sizeBytes: 3n * gi }],
  [
    'one container without: none of the pod',
    limited('1Gi', undefined),
    { medium: 'Memory' },
    { kind: 'memory', sizeBytes: 8n * gi },
  ],
  [
    'the least of all',
    limited('2Gi'),
    { medium: 'Memory', sizeLimit: '4Gi' },
    { kind: 'memory', sizeBytes: 2n * gi },
  ],
  [
    'never more than the node has',
    limited('64Gi'),
    { medium: 'Memory', sizeLimit: '32Gi' },
    { kind: 'memory', sizeBytes: 8n * gi },
  ],
  [
    '0 is no limit',
    limited(undefined),
    { medium: 'Memory', sizeLimit: '0' },
    { kind: 'memory', sizeBytes: 8n * gi },
  ],
  [
    'the pages the pod asks for',
    paged('hugepages-2Mi'),
    { medium: 'HugePages' },
    { kind: 'huge-pages', pageSizeBytes: 2_097_152n },
  ],
  [
    'the pages that are named',
    paged('hugepages-2Mi', 'hugepages-1Gi'),
    { medium: 'HugePages-1Gi' },
    { kind: 'huge-pages', pageSizeBytes: gi },
  ],
] as const;
for (const [name, pod, source, want] of cases)
  test(`emptyDirMedium: ${name}`, () => expect(emptyDirMedium(pod, source, 8n * gi)).toEqual(want));

const refusals = [
  ['pages of two sizes', paged('hugepages-2Mi', 'hugepages-1Gi'), 'HugePages', 'multiple huge page sizes'],
  ['no pages asked for', limited('1Gi'), 'HugePages', 'there is no resource request for huge pages'],
  [
    'others than those asked for',
    paged('hugepages-2Mi'),
    'HugePages-1Gi',
    'there is no resource request for huge pages',
  ],
  ['an unknown medium', limited(), 'Tape', 'unknown storage medium "Tape"'],
] as const;
for (const [name, pod, medium, why] of refusals)
  test(`emptyDirMedium refuses ${name}`, () =>
    expect(() => emptyDirMedium(pod, { medium }, gi)).toThrow(why));
