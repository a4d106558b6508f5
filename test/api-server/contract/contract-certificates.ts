// The contract of certificate signing requests of kubelets, on the double and on a real server with kubeadm's grants
// and running controllers.
import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import type { CertificateSigningRequest } from '../../../src/api/k8s/types.ts';
import type { ApiClient } from '../../../src/api/ports/api-client.ts';
import type { CertificateTemplate } from '../../../src/api/ports/certificates.ts';
import { makeRequest } from '../../../src/edge/certs/make-x509.ts';
import { memoryMaker } from '../../fakes/memory-certificates.ts';
import { type ContractContext, reasonOf } from './contract-kit.ts';

const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const clientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';

export function certificateContract(context: () => ContractContext): void {
  const commonName = `system:node:contract-${Math.random().toString(36).slice(2, 8)}`;
  const template = { commonName, organizations: ['system:nodes'], dnsNames: [], ips: [] };

  const request = async (
    over: Partial<CertificateTemplate> = {},
    spec: Partial<CertificateSigningRequest['spec']> = {},
  ): Promise<CertificateSigningRequest> => {
    const pem = makeRequest(await memoryMaker.newKey(), { ...template, ...over });
    const usages = ['digital signature', 'client auth'];
    const signerName = clientSigner;
    const whole = { request: Buffer.from(pem).toString('base64'), signerName, usages, ...spec };
    return { metadata: { generateName: 'contract-' }, spec: whole };
  };

  const until = async (
    client: ApiClient,
    name: string,
    is: (csr: CertificateSigningRequest) => boolean,
  ): Promise<CertificateSigningRequest> => {
    const { signal } = context();
    for (let attempt = 0; ; attempt++) {
      const csr = await client.get<CertificateSigningRequest>(`${path}/${name}`, { signal });
      if (is(csr) || attempt === 100) return csr;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  test('a bootstrapper gets a client certificate for a node, and may do nothing else', async () => {
    const { asBootstrapper, signal } = context();
    const client = asBootstrapper();
    const created = await client.create<CertificateSigningRequest>(path, await request(), { signal });
    expect(created.spec.username).toMatch(/^system:bootstrap:/);
    expect(created.spec.groups).toContain('system:bootstrappers');
    const csr = await until(
      client,
      created.metadata?.name ?? '',
      ({ status }) => status?.certificate !== undefined,
    );
    expect(csr.status?.conditions).toMatchObject([
      { type: 'Approved', status: 'True', reason: 'AutoApproved' },
    ]);
    const certificate = new X509Certificate(Buffer.from(csr.status?.certificate ?? '', 'base64'));
    expect(certificate.subject).toBe(`O=system:nodes\nCN=${commonName}`);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(await reasonOf(client.list('/api/v1/nodes', { signal }))).toBe('Forbidden');
    expect(await reasonOf(client.update(`${path}/${csr.metadata?.name}/approval`, csr, { signal }))).toBe(
      'Forbidden',
    );
  });

  test('a malformed request, a lifetime that is too short and missing usages are invalid', async () => {
    const { asBootstrapper, signal } = context();
    const client = asBootstrapper();
    const garbage = await request({}, { request: Buffer.from('garbage').toString('base64') });
    for (const csr of [
      garbage,
      await request({}, { expirationSeconds: 60 }),
      await request({}, { usages: [] }),
    ])
      expect(await reasonOf(client.create(path, csr, { signal }))).toBe('Invalid');
  });

  test('a node renews its own certificate without approval, and no other', async () => {
    const { asNode, signal } = context();
    const node = asNode(commonName.slice('system:node:'.length));
    const own = await node.create<CertificateSigningRequest>(path, await request(), { signal });
    const signed = await until(
      node,
      own.metadata?.name ?? '',
      ({ status }) => status?.certificate !== undefined,
    );
    expect(signed.status?.conditions?.map(({ type }) => type)).toEqual(['Approved']);
    const theirs = await request({ commonName: 'system:node:contract-other' });
    expect(await reasonOf(node.create(path, theirs, { signal }))).toBe('Forbidden');
  });

  test('an approved request that the signer cannot sign fails with the reason', async () => {
    const { admin, signal } = context();
    const bad = await request({ organizations: ['others'] });
    const created = await admin.create<CertificateSigningRequest>(path, bad, { signal });
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Contract', message: 'by the contract' }];
    const name = created.metadata?.name ?? '';
    await admin.update(`${path}/${name}/approval`, { ...created, status: { conditions } }, { signal });
    const failed = ({ status }: CertificateSigningRequest): boolean => (status?.conditions?.length ?? 0) > 1;
    const csr = await until(admin, name, failed);
    expect(csr.status?.conditions?.[1]).toMatchObject({
      type: 'Failed',
      reason: 'SignerValidationFailure',
      message: 'subject organization is not system:nodes',
    });
  });
}
