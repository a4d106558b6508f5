import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { contentTexts } from '../../../test/builders/content-texts.ts';
import { aSetUpRequest } from '../../../test/builders/volume-requests.ts';
import type { DownwardAPIVolumeFile } from '../../api/k8s/types.ts';
import { describeError } from '../../base/errors.ts';
import { downwardApiKind } from './downward-api.ts';

const pod = aPod({
  name: 'web',
  uid: 'u-1',
  labels: { b: '2', a: 'say "x"' },
  annotations: { note: 'two\nlines' },
  containers: [
    aContainer({ name: 'c', resources: { requests: { cpu: '250m' }, limits: { memory: '64Mi' } } }),
  ],
});

async function files(items: DownwardAPIVolumeFile[], defaultMode?: number): Promise<unknown> {
  const downwardAPI = { items, ...(defaultMode === undefined ? {} : { defaultMode }) };
  const kind = downwardApiKind(() => ({ cpu: '4', memory: '8Gi' }));
  const request = aSetUpRequest('downward-api', { downwardAPI }, { pod });
  try {
    return contentTexts(await kind.collect(request, new AbortController().signal));
  } catch (err) {
    return describeError(err);
  }
}
const field = (fieldPath: string, path = 'f'): DownwardAPIVolumeFile => ({ path, fieldRef: { fieldPath } });
const resource = (name: string, divisor?: string): DownwardAPIVolumeFile => ({
  path: 'f',
  resourceFieldRef: { containerName: 'c', resource: name, ...(divisor === undefined ? {} : { divisor }) },
});

const cases: readonly (readonly [string, DownwardAPIVolumeFile[], unknown])[] = [
  ['name', [field('metadata.name')], { f: '644 web' }],
  ['namespace', [field('metadata.namespace')], { f: '644 default' }],
  ['uid', [field('metadata.uid')], { f: '644 u-1' }],
  ['all labels, sorted and quoted', [field('metadata.labels')], { f: '644 a="say \\"x\\""\nb="2"' }],
  ['one label', [field("metadata.labels['b']")], { f: '644 2' }],
  ['a missing label as empty', [field("metadata.labels['z']")], { f: '644 ' }],
  ['annotations', [field('metadata.annotations')], { f: '644 note="two\\nlines"' }],
  ['a resource request', [resource('requests.cpu', '1m')], { f: '644 250' }],
  ['a resource limit', [resource('limits.memory', '1Mi')], { f: '644 64' }],
  ['the node’s allocatable for a missing limit', [resource('limits.cpu')], { f: '644 4' }],
  [
    'a normalized path and its own mode',
    [{ ...field('metadata.name', 'a//b'), mode: 0o400 }],
    { 'a/b': '400 web' },
  ],
];
for (const [name, items, want] of cases)
  test(`downwardAPI writes ${name}`, async () => expect(await files(items)).toEqual(want));

test('downwardAPI applies the default mode and rejects an unknown field', async () => {
  expect(await files([field('metadata.name')], 0o440)).toEqual({ f: '440 web' });
  expect(await files([field('spec.nothing')])).toContain('spec.nothing');
});
