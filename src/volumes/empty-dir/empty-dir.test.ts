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
  ['the default medium is the disk', limited('1Gi'), {}, { kind: 'disk' }],
  [
    'without limits the node’s allocatable memory bounds the size',
    limited(undefined),
    { medium: 'Memory' },
    { kind: 'memory', sizeBytes: 8n * gi },
  ],
  [
    'the sizeLimit bounds the size',
    limited(undefined),
    { medium: 'Memory', sizeLimit: '1Gi' },
    { kind: 'memory', sizeBytes: gi },
  ],
  [
    'the pod’s memory limit bounds the size',
    limited('1Gi', '2Gi'),
    { medium: 'Memory' },
    { kind: 'memory', sizeBytes: 3n * gi },
  ],
  [
    'a container without a limit leaves the pod unlimited',
    limited('1Gi', undefined),
    { medium: 'Memory' },
    { kind: 'memory', sizeBytes: 8n * gi },
  ],
  [
    'the smallest bound wins',
    limited('2Gi'),
    { medium: 'Memory', sizeLimit: '4Gi' },
    { kind: 'memory', sizeBytes: 2n * gi },
  ],
  [
    'the node’s allocatable memory is the upper bound',
    limited('64Gi'),
    { medium: 'Memory', sizeLimit: '32Gi' },
    { kind: 'memory', sizeBytes: 8n * gi },
  ],
  [
    'a sizeLimit of 0 is no limit',
    limited(undefined),
    { medium: 'Memory', sizeLimit: '0' },
    { kind: 'memory', sizeBytes: 8n * gi },
  ],
  [
    'HugePages uses the page size that the pod requests',
    paged('hugepages-2Mi'),
    { medium: 'HugePages' },
    { kind: 'huge-pages', pageSizeBytes: 2_097_152n },
  ],
  [
    'HugePages-<size> selects the page size',
    paged('hugepages-2Mi', 'hugepages-1Gi'),
    { medium: 'HugePages-1Gi' },
    { kind: 'huge-pages', pageSizeBytes: gi },
  ],
] as const;
for (const [name, pod, source, want] of cases)
  test(`emptyDirMedium: ${name}`, () => expect(emptyDirMedium(pod, source, 8n * gi)).toEqual(want));

const refusals = [
  [
    'requests for two page sizes',
    paged('hugepages-2Mi', 'hugepages-1Gi'),
    'HugePages',
    'multiple huge page sizes',
  ],
  [
    'a pod without a huge page request',
    limited('1Gi'),
    'HugePages',
    'there is no resource request for huge pages',
  ],
  [
    'a page size that the pod does not request',
    paged('hugepages-2Mi'),
    'HugePages-1Gi',
    'there is no resource request for huge pages',
  ],
  ['an unknown medium', limited(), 'Tape', 'unknown storage medium "Tape"'],
] as const;
for (const [name, pod, medium, why] of refusals)
  test(`emptyDirMedium rejects ${name}`, () =>
    expect(() => emptyDirMedium(pod, { medium }, gi)).toThrow(why));
