// Volumes that only a broken or hostile API server can deliver: long texts, odd separators, keys of Object.prototype.
import { expect, test } from 'vitest';
import type { Volume } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';
import { translateInline, translatePersistent } from './translate.ts';

const million = 1_000_000;

/** The length of the error's text; 0 without an error. Quadratic work would exceed the time limit of tests. */
function errorLength(source: Omit<Volume, 'name'>): number {
  try {
    translateInline({ name: 'v', ...source }, 'ns');
    return 0;
  } catch (err) {
    if (!(err instanceof KubeletError)) throw err;
    return err.message.length;
  }
}

const texts = ['/', '%', '%41', '@', ':', '?', '#', '[', '-', ' ', 'é', '\u{1f600}', '\0', '"', '%2f'];
for (const text of texts)
  test(`an EBS volume with a million ${JSON.stringify(text)} is refused at once with a short error`, () => {
    for (const prefix of ['aws://', 'aws://a/vol-', 'aws://a/vol-1#', 'aws://a@'])
      expect(errorLength({ awsElasticBlockStore: { volumeID: prefix + text.repeat(million) } })).toBeLessThan(
        5000,
      );
  });

test('an Azure secret with many prefixes and lines takes linear time', () => {
  for (const text of ['azure-storage-account-', '-secret', 'azure-storage-account-\n', '-secret\n'])
    expect(errorLength({ azureFile: { secretName: text.repeat(100_000), shareName: 's' } })).toBe(0);
});

test('an Azure disk of a long kind has a short error', () => {
  const azureDisk = { diskName: 'd', diskURI: '/x', kind: 'k'.repeat(million) };
  expect(errorLength({ azureDisk })).toBeLessThan(5000);
});

test('fields of unknown names cannot replace those of the translation', () => {
  const cinder = JSON.parse(
    '{"volumeID":"id","driver":"evil","handle":"evil","attributes":{"a":"b"},"__proto__":{"readOnly":true}}',
  ) as { volumeID: string };
  expect(translateInline({ name: 'v', cinder }, 'ns')?.spec?.csi).toStrictEqual({
    driver: 'cinder.csi.openstack.org',
    volumeHandle: 'id',
  });
});

test('keys of Object.prototype in labels and annotations are data', () => {
  const metadata = JSON.parse('{"name":"__proto__","labels":{"__proto__":"x","constructor":"y"}}') as object;
  const volume = { metadata, spec: { portworxVolume: { volumeID: '__proto__' } } };
  const translated = translatePersistent(volume);
  expect(translated?.metadata).toStrictEqual(metadata);
  expect(translated?.spec?.csi?.volumeHandle).toBe('__proto__');
  expect(Object.keys({})).toEqual([]);
});
