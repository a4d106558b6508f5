import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { containerResourceText, podFieldText } from './pod-fields.ts';

const pod = aPod({
  name: 'web-0',
  namespace: 'shop',
  uid: 'u-1',
  labels: { tier: 'front', app: 'web' },
  annotations: { note: 'say "hi"\nthere', 'example.com/a': 'x' },
  initContainers: [aContainer({ name: 'i', resources: { limits: { cpu: '2' } } })],
  containers: [
    aContainer({
      resources: {
        requests: { cpu: '250m', memory: '100Mi' },
        limits: { cpu: '1500m', 'hugepages-2Mi': '4Mi' },
      },
    }),
  ],
});

const fields = [
  ['metadata.name', 'web-0'],
  ['metadata.namespace', 'shop'],
  ['metadata.uid', 'u-1'],
  ['metadata.labels', 'app="web"\ntier="front"'],
  ['metadata.annotations', 'example.com/a="x"\nnote="say \\"hi\\"\\nthere"'],
  ["metadata.labels['app']", 'web'],
  ["metadata.annotations['example.com/a']", 'x'],
  ["metadata.labels['absent']", ''],
] as const;
for (const [path, want] of fields)
  test(`podFieldText: ${path}`, () => expect(podFieldText(pod, path)).toBe(want));

for (const path of ['spec.nodeName', 'metadata.generation', "metadata.labels['a'", ''])
  test(`podFieldText: rejects ${path || 'an empty path'}`, () =>
    expect(() => podFieldText(pod, path)).toThrow(`unsupported fieldPath: ${path}`));

const allocatable = { cpu: '4', memory: '8Gi', 'ephemeral-storage': '20Gi' };
const resources = [
  ['c', 'requests.cpu', undefined, '1'],
  ['c', 'requests.cpu', '1m', '250'],
  ['c', 'limits.cpu', '1', '2'],
  ['c', 'limits.cpu', '1m', '1500'],
  ['c', 'requests.memory', '1Mi', '100'],
  ['c', 'limits.memory', '1Gi', '8'],
  ['c', 'limits.memory', '3Gi', '3'],
  ['c', 'limits.ephemeral-storage', '0', '21474836480'],
  ['c', 'requests.ephemeral-storage', '1', '0'],
  ['c', 'limits.hugepages-2Mi', '1Mi', '4'],
  ['i', 'limits.cpu', '1', '2'],
] as const;
for (const [container, resource, divisor, want] of resources)
  test(`containerResourceText: ${container} ${resource} by ${divisor}`, () => {
    const selector = { resource, ...(divisor === undefined ? {} : { divisor }) };
    expect(containerResourceText(pod, selector, container, allocatable)).toBe(want);
  });

test('containerResourceText: names the missing container or resource', () => {
  expect(() => containerResourceText(pod, { resource: 'limits.cpu' }, 'x', {})).toThrow(
    'container x not found',
  );
  expect(() => containerResourceText(pod, { resource: 'limits.gpu' }, 'c', {})).toThrow(
    'unsupported container resource : limits.gpu',
  );
});
