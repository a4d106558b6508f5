import { expect, test } from 'vitest';
import { contentTexts } from '../../../test/builders/content-texts.ts';
import { aSetUpRequest } from '../../../test/builders/volume-requests.ts';
import type { ConfigMap, ConfigMapVolumeSource } from '../../api/k8s/types.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { configMapKind } from './config-map.ts';

const existing: ConfigMap = {
  data: { a: '1', b: '2' },
  binaryData: { c: Buffer.from([0, 255]).toString('base64') },
};
const signal = new AbortController().signal;

function kindOver(found: ConfigMap | KubeletError) {
  return configMapKind({
    configMap: (_, name) => {
      if (found instanceof KubeletError) return Promise.reject(found);
      return name === 'cm'
        ? Promise.resolve(found)
        : Promise.reject(new KubeletError('not-found', 'NotFound', `configmaps "${name}" not found`));
    },
  });
}

async function files(
  configMap: ConfigMapVolumeSource,
  found: ConfigMap | KubeletError = existing,
): Promise<unknown> {
  const request = aSetUpRequest('configmap', { configMap });
  try {
    return contentTexts(await kindOver(found).collect(request, signal));
  } catch (err) {
    return describeError(err);
  }
}

const cases: readonly (readonly [string, ConfigMapVolumeSource, unknown])[] = [
  ['writes all keys, text and binary', { name: 'cm' }, { a: '644 1', b: '644 2', c: '644 \u0000\ufffd' }],
  [
    'applies the default mode',
    { name: 'cm', defaultMode: 0o400 },
    { a: '400 1', b: '400 2', c: '400 \u0000\ufffd' },
  ],
  [
    'writes selected keys with their paths and modes',
    {
      name: 'cm',
      defaultMode: 0o400,
      items: [
        { key: 'a', path: 'x/y', mode: 0o600 },
        { key: 'b', path: 'z' },
      ],
    },
    { 'x/y': '600 1', z: '400 2' },
  ],
  [
    'rejects a missing key',
    { name: 'cm', items: [{ key: 'q', path: 'q' }] },
    'configmap references non-existent config key: q',
  ],
  ['ignores a missing key if optional', { name: 'cm', optional: true, items: [{ key: 'q', path: 'q' }] }, {}],
  ['rejects a missing object', { name: 'none' }, 'configmap "none" not found'],
  ['writes nothing for a missing optional object', { name: 'none', optional: true }, {}],
];
for (const [name, source, want] of cases)
  test(`configMap ${name}`, async () => expect(await files(source)).toEqual(want));

test('configMap does not treat an unavailable API server as a missing object', async () => {
  const unavailable = new KubeletError('unavailable', 'Unavailable', 'connection refused');
  expect(await files({ name: 'cm', optional: true }, unavailable)).toBe('connection refused');
});

test('configMap is stored on disk, references its object, and serves no other kind of volume', () => {
  const kind = kindOver(existing);
  const { pod, spec } = aSetUpRequest('configmap', { configMap: { name: 'cm' } });
  expect(kind.references(pod, spec)).toEqual([{ kind: 'ConfigMap', namespace: 'default', name: 'cm' }]);
  expect([kind.inMemory, kind.canServe(spec), kind.canServe({ ...spec, source: { secret: {} } })]).toEqual([
    false,
    true,
    false,
  ]);
});
