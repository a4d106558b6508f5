// What the double permits with PodCertificateRequests: to nodes only their own, to signers only valid certificates.
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { PodCertificateRequest } from '../../../src/api/k8s/types.ts';
import type { ApiClient } from '../../../src/api/ports/api-client.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { memoryPodKey } from '../../fakes/memory-certificates.ts';
import { ApiServerDouble, adminUser, nodeUser } from '../double.ts';
import { memoryClient } from '../memory-client.ts';
import { TestAuthority } from '../pki.ts';

const all = '/apis/certificates.k8s.io/v1/podcertificaterequests';
const path = '/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests';
const { signal } = new AbortController();
let double: ApiServerDouble;
let admin: ApiClient;
let node: ApiClient;
let other: ApiClient;
let valid: PodCertificateRequest;

beforeEach(async () => {
  const clock = new FakeClock();
  double = new ApiServerDouble({ clock });
  onTestFinished(() => double.close());
  const [first, second] = ['n1', 'n2'].map((name) => double.objects.create('nodes', { metadata: { name } }));
  const sources = [{ podCertificate: { signerName: 'a.b/c', keyType: 'ECDSAP256' } }];
  const pod = double.objects.create('pods', {
    metadata: { name: 'p', namespace: 'default' },
    spec: {
      nodeName: 'n1',
      serviceAccountName: 'default',
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', projected: { sources } }],
    },
  });
  expect(second?.metadata?.uid).not.toBe(first?.metadata?.uid);
  const { request } = await memoryPodKey('ECDSAP256', signal);
  valid = {
    metadata: { generateName: 'req-' },
    spec: {
      signerName: 'a.b/c',
      podName: 'p',
      podUID: pod.metadata?.uid ?? '',
      serviceAccountName: 'default',
      serviceAccountUID: double.objects.get('serviceaccounts', 'default', 'default')?.metadata?.uid ?? '',
      nodeName: 'n1',
      nodeUID: first?.metadata?.uid ?? '',
      stubPKCS10Request: Buffer.from(request).toString('base64'),
    },
  };
  admin = memoryClient(double, clock, adminUser).client;
  node = memoryClient(double, clock, nodeUser('n1')).client;
  other = memoryClient(double, clock, nodeUser('n2')).client;
});

async function reason(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no error',
    (err: unknown) => (err instanceof KubeletError ? err.reason : String(err)),
  );
}

function create(
  client: ApiClient,
  spec: Partial<PodCertificateRequest['spec']> = {},
): Promise<PodCertificateRequest> {
  return client.create(path, { ...valid, spec: { ...valid.spec, ...spec } }, { signal });
}

test('a node creates requests for its own pods, and the default lifetime is a day', async () => {
  const created = await create(node);
  expect(created).toMatchObject({ spec: { maxExpirationSeconds: 86_400 }, status: {} });
  expect(await reason(node.get(`${path}/${created.metadata?.name}`, { signal }))).toBe('no error');
  expect(await reason(other.get(`${path}/${created.metadata?.name}`, { signal }))).toBe('Forbidden');
});

const refused: readonly (readonly [string, Partial<PodCertificateRequest['spec']>])[] = [
  ['another node', { nodeName: 'n2' }],
  ['another UID of the node', { nodeUID: 'x' }],
  ['a pod that does not exist', { podName: 'q' }],
  ['another UID of the pod', { podUID: 'x' }],
  ['another service account', { serviceAccountName: 'x' }],
  ['another UID of the service account', { serviceAccountUID: 'x' }],
  ['a signer that the pod does not name', { signerName: 'a.b/d' }],
];
test.each(refused)('a node may not name %s', async (_, spec) => {
  expect(await reason(create(node, spec))).toBe('Forbidden');
});

test('a node reads requests by its own field selector, and writes none', async () => {
  const { metadata } = await create(node);
  const list = (fieldSelector?: string) => reason(node.list(all, { signal, query: { fieldSelector } }));
  expect(await list()).toBe('Forbidden');
  expect(await list('spec.nodeName=n2')).toBe('Forbidden');
  expect(await list('spec.nodeName=n1')).toBe('no error');
  const one = `${path}/${metadata?.name}`;
  expect(await reason(node.delete(one, {}, { signal }))).toBe('Forbidden');
  expect(await reason(node.patch(`${one}/status`, 'merge', { status: {} }, { signal }))).toBe('Forbidden');
});

test('the stub request must be signed by its key, and the lifetime within its bounds', async () => {
  const forged = Buffer.from(valid.spec.stubPKCS10Request, 'base64');
  // The last byte of the signature.
  forged.writeUInt8(forged.readUInt8(forged.length - 1) ^ 1, forged.length - 1);
  const specs = [
    { stubPKCS10Request: forged.toString('base64') },
    { stubPKCS10Request: Buffer.from('garbage').toString('base64') },
    { maxExpirationSeconds: 3599 },
    { maxExpirationSeconds: 91 * 86_400 + 1 },
  ];
  for (const spec of specs) expect(await reason(create(admin, spec))).toBe('Invalid');
});

test('a certificate for another key, a chain that is too long, and a second verdict are invalid', async () => {
  const { metadata } = await create(node);
  const write = (status: object): Promise<string> =>
    reason(admin.patch(`${path}/${metadata?.name}/status`, 'merge', { status }, { signal }));
  const condition = (type: string): object => ({ type, status: 'True', reason: 'R', message: '' });
  const { cert } = new TestAuthority().issue({ commonName: 'x', usage: 'client' });
  expect(await write({ conditions: [condition('Issued')], certificateChain: cert })).toBe('Invalid');
  expect(await write({ conditions: [condition('Issued')], certificateChain: 'x'.repeat(102_401) })).toBe(
    'Invalid',
  );
  expect(await write({ conditions: [condition('Denied')] })).toBe('no error');
  expect(await write({ conditions: [condition('Failed')] })).toBe('Invalid');
});
