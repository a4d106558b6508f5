import { expect, test } from 'vitest';
import { mergeCredentials } from './merge-credentials.ts';
import {
  decodeIntent,
  decodePulledRecord,
  encodeIntent,
  encodePulledRecord,
  isRecordFileName,
  type PulledRecord,
  type RecordedCredentials,
  recordFileName,
} from './pull-record.ts';

const at = Date.UTC(2024, 9, 21, 12, 26, 40);
const header = '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1"';
const secret = {
  uid: 'testsecretuid',
  namespace: 'default',
  name: 'pull-secret',
  credentialHash: 'testsecrethash',
};
const account = { uid: 'test-sa-uid', namespace: 'default', name: 'test-sa' };
const none: RecordedCredentials = { secrets: [], serviceAccounts: [], nodePodsAccessible: false };
const of = (credentials?: RecordedCredentials): PulledRecord => ({
  lastUpdatedMs: at,
  imageRef: 'testimageref',
  credentials: new Map(credentials === undefined ? [] : [['docker.io/testing/test', credentials]]),
});

test("uses upstream's file names", () => {
  expect(recordFileName('testimageref')).toBe(
    'sha256-b3c0cc4278800b03a308ceb2611161430df571ca733122f0a40ac8b9792a9064',
  );
  expect(recordFileName('docker.io/testing/test:latest')).toBe(
    'sha256-aef2af226629a35d5f3ef0fdbb29fdbebf038d0acd8850590e8c48e1e283aa56',
  );
  const name = recordFileName('x');
  expect([name, `${name}.tmp`, `.${name}`, 'other', name.slice(1)].filter(isRecordFileName)).toEqual([name]);
});

test.each([
  [
    { ...none, secrets: [secret] },
    '{"kubernetesSecrets":[{"uid":"testsecretuid","namespace":"default","name":"pull-secret","credentialHash":"testsecrethash"}]}',
  ],
  [
    { ...none, serviceAccounts: [account] },
    '{"kubernetesServiceAccounts":[{"uid":"test-sa-uid","namespace":"default","name":"test-sa"}]}',
  ],
  [{ ...none, nodePodsAccessible: true }, '{"nodePodsAccessible":true}'],
])('encodes the record %j', (credentials, text) => {
  const written = `${header},"lastUpdatedTime":"2024-10-21T12:26:40Z","imageRef":"testimageref","credentialMapping":{"docker.io/testing/test":${text}}}\n`;
  expect(encodePulledRecord(of(credentials))).toBe(written);
  expect(decodePulledRecord(written)).toEqual({ value: of(credentials), isCurrent: true });
  const older = written.replace('v1beta1', 'v1alpha1');
  expect(decodePulledRecord(older)).toEqual({ value: of(credentials), isCurrent: false });
});

test("decodes records without credentials and records of upstream's kubelet", () => {
  const bare = `${header},"lastUpdatedTime":"2024-10-21T12:26:40Z","imageRef":"testimageref"}\n`;
  expect([encodePulledRecord(of()), decodePulledRecord(bare).value]).toEqual([bare, of()]);
  const foreign = `${header},"lastUpdatedTime":"2024-10-21T12:26:40Z","imageRef":"testimageref","credentialMapping":{"docker.io/testing/test":{"kubernetesSecrets":null,"nodePodsAccessible":true}}}`;
  expect(decodePulledRecord(foreign).value).toEqual(of({ ...none, nodePodsAccessible: true }));
});

test('encodes and decodes an intent', () => {
  const text =
    '{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"docker.io/testing/test:latest"}\n';
  const value = { image: 'docker.io/testing/test:latest' };
  expect(encodeIntent(value)).toBe(text);
  expect(decodeIntent(text)).toEqual({ value, isCurrent: true });
});

test.each([
  ['', 'it is not JSON'],
  ['{"kind":', 'it is not JSON'],
  ['[]', 'a value is not an object'],
  [
    '{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1"}',
    'it is not of kind ImagePulledRecord in kubelet.config.k8s.io/v1beta1',
  ],
  [`${header},"extra":1}`, 'unknown field "extra"'],
  [`${header},"credentialMapping":{"a":{"kubernetesSecrets":{}}}}`, 'a value is not a list'],
  [`${header},"credentialMapping":{"a":{"other":1}}}`, 'unknown field "other"'],
  [`${header},"imageRef":5}`, 'imageRef is not a string'],
])('rejects the record %s', (text, message) => {
  expect(() => decodePulledRecord(text)).toThrow(expect.objectContaining({ message }));
});

const newer = { ...secret, credentialHash: 'new' };
const other = { ...secret, namespace: 'a', uid: '2' };
const image = 'docker.io/testing/test';
test.each<[string, RecordedCredentials | undefined, RecordedCredentials, RecordedCredentials | undefined]>([
  ['first credentials', undefined, { ...none, secrets: [secret] }, { ...none, secrets: [secret] }],
  ['no credentials', undefined, none, undefined],
  ['the same secret', { ...none, secrets: [secret] }, { ...none, secrets: [secret] }, undefined],
  [
    'a secret whose content changed',
    { ...none, secrets: [secret] },
    { ...none, secrets: [newer] },
    { ...none, secrets: [newer] },
  ],
  [
    'another secret, sorted',
    { ...none, secrets: [secret] },
    { ...none, secrets: [other] },
    { ...none, secrets: [other, secret] },
  ],
  [
    'an account beside a secret',
    { ...none, secrets: [secret] },
    { ...none, serviceAccounts: [account] },
    { ...none, secrets: [secret], serviceAccounts: [account] },
  ],
  [
    'the same account',
    { ...none, serviceAccounts: [account] },
    { ...none, serviceAccounts: [account] },
    undefined,
  ],
  [
    'access for every pod',
    { ...none, secrets: [secret] },
    { ...none, nodePodsAccessible: true },
    { ...none, nodePodsAccessible: true },
  ],
  [
    'access for every pod already recorded',
    { ...none, nodePodsAccessible: true },
    { ...none, secrets: [secret] },
    undefined,
  ],
])('mergeCredentials: %s', (_, had, fresh, want) => {
  const merged = mergeCredentials(of(had), image, fresh, at + 1000);
  expect(merged?.credentials.get(image)).toEqual(want);
  if (want !== undefined) expect(merged?.lastUpdatedMs).toBe(at + 1000);
});
