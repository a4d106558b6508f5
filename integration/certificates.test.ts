// Joining a cluster with a bootstrap token and renewing certificates, with the API server double as approver and
// signer.
import { existsSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import type { CertificateSigningRequest } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { type Cluster, isReady, startCluster } from './support/cluster.ts';
import { manifest } from './support/manifest.ts';

const clientSigner = 'kubernetes.io/kube-apiserver-client-kubelet';
const servingSigner = 'kubernetes.io/kubelet-serving';

describeOnRig('certificates', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let kubeconfig: string;
  const config = { rotateCertificates: true, serverTLSBootstrap: true };

  beforeAll(async () => {
    rig = await startRig();
    cluster = await startCluster(rig, 'joiner', { certificates: { seconds: 3_600, decide: () => 'wait' } });
    kubeconfig = join(rig.workspace.dir, 'joined.kubeconfig');
    const flags = [`--bootstrap-kubeconfig=${cluster.bootstrapKubeconfig}`, `--kubeconfig=${kubeconfig}`];
    kubelet = rig.newKubelet({ nodeName: 'joiner', flags, config });
  });
  afterAll(async () => {
    await rig.stop();
    await cluster.stop();
  });

  beforeEach(() => onTestFailed(() => console.error(cluster.describeState(kubelet))));
  const link = (kind: 'client' | 'server'): string => join(kubelet.certDir, `kubelet-${kind}-current.pem`);
  const requests = (signerName: string): readonly CertificateSigningRequest[] =>
    cluster.double.objects
      .list('certificatesigningrequests')
      .filter(({ spec }) => spec.signerName === signerName);

  const approve = async (signerName: string): Promise<void> => {
    const csr = await waitFor(
      () => requests(signerName).find(({ status }) => (status?.conditions ?? []).length === 0),
      `a request for ${signerName}`,
      60_000,
    );
    const conditions = [
      { type: 'Approved', status: 'True', reason: 'Test', message: 'approved by the test' },
    ];
    const name = csr.metadata?.name ?? '';
    cluster.double.objects.patch(
      'certificatesigningrequests',
      '',
      name,
      { status: { conditions } },
      'approval',
    );
  };

  /** The serving certificate of the secure port; undefined if the handshake fails. */
  const shown = (): Promise<PeerCertificate | undefined> =>
    new Promise((resolve) => {
      const port = cluster.node()?.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
      const socket = connect({
        host: '127.0.0.1',
        port,
        ca: cluster.authority.cert,
        checkServerIdentity: () => undefined,
      });
      socket.once('secureConnect', () => {
        resolve(socket.getPeerCertificate());
        socket.destroy();
      });
      socket.once('error', () => resolve(undefined));
    });

  test('static pods run while the request is pending, and a killed kubelet resumes its request', async () => {
    await kubelet.start();
    kubelet.writeManifest('early', manifest('early'));
    await waitFor(() => requests(clientSigner).length === 1, 'the request', 60_000);
    await waitFor(async () => isReady((await kubelet.pod('early'))?.status ?? {}), 'a static pod', 60_000);
    await kubelet.stop('SIGKILL');
    expect([existsSync(kubeconfig), existsSync(link('client'))]).toEqual([false, false]);
    expect(statSync(join(kubelet.certDir, 'kubelet-client.key.tmp')).mode & 0o777).toBe(0o600);
    await kubelet.start();
    await kubelet.log.waitForLine(/Adopted the existing certificate signing request/);
    expect(requests(clientSigner)).toHaveLength(1);
  });

  test('an approved node is Ready and has the certificate files of upstream', async () => {
    // Signed as if most of its hour had passed, so that it is renewed soon.
    cluster.authority.skewMs = -57 * 60_000;
    await approve(clientSigner);
    await cluster.untilNodeReady();
    cluster.authority.skewMs = 0;
    expect(statSync(link('client')).mode & 0o777).toBe(0o600);
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
    expect(readFileSync(kubeconfig, 'utf8')).toContain(`client-certificate: ${link('client')}`);
    expect(existsSync(join(kubelet.certDir, 'kubelet-client.key.tmp'))).toBe(false);
    const users = cluster.double.requests
      .filter(({ resource }) => resource === 'nodes')
      .map(({ user }) => user);
    expect(new Set(users)).toEqual(new Set(['system:node:joiner']));
  });

  test('the node renews its certificate without restarting pods or rejected requests', async () => {
    cluster.createPod(manifest('running'));
    await cluster.untilReady('running');
    const before = readlinkSync(link('client'));
    await approve(clientSigner);
    await waitFor(() => readlinkSync(link('client')) !== before, 'the next certificate', 60_000);
    const rotated = requests(clientSigner).find(({ metadata: { name } = {} }) => name?.startsWith('csr-'));
    expect(rotated?.spec.username).toBe('system:node:joiner');
    cluster.double.objects.delete('pods', 'default', 'running');
    await cluster.untilGone('running');
    expect((await kubelet.pod('early'))?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
    expect(cluster.double.requests.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
  });

  test('the secure port serves its certificate once the request is approved, without a restart', async () => {
    expect(await shown()).toBeUndefined();
    await approve(servingSigner);
    const certificate = await waitFor(shown, 'the port to show its certificate', 60_000);
    expect(certificate.subject).toMatchObject({ CN: 'system:node:joiner', O: 'system:nodes' });
    const addresses = cluster.node()?.status?.addresses?.map(({ address }) => address) ?? [];
    for (const address of addresses) expect(certificate.subjectaltname).toContain(address);
    expect(statSync(link('server')).mode & 0o777).toBe(0o600);
  });

  test('a kubelet with a corrupt certificate requests another one with the token', async () => {
    const before = requests(clientSigner).length;
    await kubelet.stop();
    writeFileSync(readlinkSync(link('client')), 'not a certificate');
    await kubelet.start();
    await waitFor(() => requests(clientSigner).length > before, 'another request', 60_000);
    await approve(clientSigner);
    await waitFor(
      () => readFileSync(link('client'), 'utf8').includes('BEGIN CERTIFICATE'),
      'a certificate',
      60_000,
    );
    await cluster.untilNodeReady();
  });
});
