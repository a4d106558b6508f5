// How a cluster treats kubelets' certificate requests, the same on the double and on a real server with kubeadm's grants and
// its controllers running.
import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import type { CertificateSigningRequest } from '../../src/api/k8s/types.ts';
import type { ApiClient } from '../../src/api/ports/api-client.ts';
import type { CertificateTemplate } from '../../src/api/ports/certificates.ts';
import { makeRequest } from '../../src/edge/certs/make-x509.ts';
import { memoryMaker } from '../fakes/memory-certificates.ts';
import { type ContractGround, reasonOf } from './contract-kit.ts';

const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const clientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';

export function certificateContract(ground: () => ContractGround): void {
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
    const { signal } = ground();
    for (let attempt = 0; ; attempt++) {
      const csr = await client.get<CertificateSigningRequest>(`${path}/${name}`, { signal });
      if (is(csr) || attempt === 100) return csr;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  test('who bootstraps gets a node’s client certificate, and may do nothing else', async () => {
    const { asBootstrapper, signal } = ground();
    const client = asBootstrapper();
    const made = await client.create<CertificateSigningRequest>(path, await request(), { signal });
    expect(made.spec.username).toMatch(/^system:bootstrap:/);
    expect(made.spec.groups).toContain('system:bootstrappers');
    const csr = await until(
      client,
      made.metadata?.name ?? '',
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

  test('what is no request, lives too short or is for nothing is invalid', async () => {
    const { asBootstrapper, signal } = ground();
    const client = asBootstrapper();
    const garbage = await request({}, { request: Buffer.from('garbage').toString('base64') });
    for (const csr of [
      garbage,
      await request({}, { expirationSeconds: 60 }),
      await request({}, { usages: [] }),
    ])
      expect(await reasonOf(client.create(path, csr, { signal }))).toBe('Invalid');
  });

  test('a node gets its own next certificate by itself, and nobody else’s', async () => {
    const { asNode, signal } = ground();
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

  test('what the signer cannot sign fails when it is approved, and says why', async () => {
    const { admin, signal } = ground();
    const bad = await request({ organizations: ['others'] });
    const made = await admin.create<CertificateSigningRequest>(path, bad, { signal });
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Contract', message: 'by the contract' }];
    const name = made.metadata?.name ?? '';
    await admin.update(`${path}/${name}/approval`, { ...made, status: { conditions } }, { signal });
    const failed = ({ status }: CertificateSigningRequest): boolean => (status?.conditions?.length ?? 0) > 1;
    const csr = await until(admin, name, failed);
    expect(csr.status?.conditions?.[1]).toMatchObject({
      type: 'Failed',
      reason: 'SignerValidationFailure',
      message: 'subject organization is not system:nodes',
    });
  });
}
