import { expect, test } from 'vitest';
import { contentTexts } from '../../../test/builders/content-texts.ts';
import { aSetUpRequest } from '../../../test/builders/volume-requests.ts';
import type { SecretVolumeSource } from '../../api/k8s/types.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { secretKind } from './secret.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const kind = secretKind({
  secret: (namespace, name) =>
    namespace === 'default' && name === 's'
      ? Promise.resolve({ data: { user: base64('me'), password: base64('hunter2') } })
      : Promise.reject(new KubeletError('not-found', 'NotFound', `secrets "${name}" not found`)),
});

async function files(secret: SecretVolumeSource): Promise<unknown> {
  try {
    return contentTexts(
      await kind.collect(aSetUpRequest('secret', { secret }), new AbortController().signal),
    );
  } catch (err) {
    return describeError(err);
  }
}

const cases: readonly (readonly [string, SecretVolumeSource, unknown])[] = [
  ['writes all keys', { secretName: 's' }, { user: '644 me', password: '644 hunter2' }],
  [
    'writes a selected key',
    { secretName: 's', defaultMode: 0o400, items: [{ key: 'password', path: 'p' }] },
    { p: '400 hunter2' },
  ],
  [
    'rejects a missing key',
    { secretName: 's', items: [{ key: 'q', path: 'q' }] },
    'references non-existent secret key: q',
  ],
  [
    'ignores a missing key if optional',
    { secretName: 's', optional: true, items: [{ key: 'q', path: 'q' }] },
    {},
  ],
  ['rejects a missing object', { secretName: 'none' }, 'secret "none" not found'],
  ['writes nothing for a missing optional object', { secretName: 'none', optional: true }, {}],
  ['rejects a source without a name', {}, 'secret "" not found'],
];
for (const [name, source, want] of cases)
  test(`secret ${name}`, async () => expect(await files(source)).toEqual(want));

test('secret is stored in memory and references its object', () => {
  const { pod, spec } = aSetUpRequest('secret', { secret: { secretName: 's' } });
  expect(kind.inMemory).toBe(true);
  expect(kind.references(pod, spec)).toEqual([{ kind: 'Secret', namespace: 'default', name: 's' }]);
});
