// Joining a cluster with a bootstrap token and rotating the client certificate, over HTTPS to the API server double,
// with real files and keys.
import { mkdtempSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Node } from '../../../src/api/k8s/types.ts';
import { realClock } from '../../../src/base/clock.ts';
import { startComponent } from '../../../src/base/component.ts';
import { silentLogger } from '../../../src/base/log/log.ts';
import { Metrics } from '../../../src/base/metrics.ts';
import { defaultGates } from '../../../src/config/gates/feature-gates.ts';
import { legacyConfiguration } from '../../../src/config/load/complete.ts';
import { defaultsOf } from '../../../src/config/schema.ts';
import { kubeletFlags } from '../../../src/config/table/kubelet-flags.ts';
import { readKubeconfig } from '../../../src/edge/apiserver/open-api-server.ts';
import { loadCluster } from '../../../src/entry/open-cluster.ts';
import { ApiServerDouble, bootstrapUser } from '../../api-server/double.ts';
import { serveDouble } from '../../api-server/http-front.ts';
import { kubeconfigText, nodeCertificate } from '../../api-server/kubeconfig-text.ts';
import { TestAuthority } from '../../api-server/pki.ts';
import type { CertificateOptions } from '../../api-server/rules/certificate-controllers.ts';

const token = 'abcdef.0123456789abcdef';
const ignore = (): undefined => undefined;
const observer = { request: ignore, answered: ignore, waited: ignore, retried: ignore };

async function world(certificates: CertificateOptions = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'joining-'));
  const authority = new TestAuthority({ backdateSeconds: 0 });
  const users = { [token]: bootstrapUser('abcdef') };
  const double = new ApiServerDouble({ clock: realClock, sign: authority.sign, users, certificates });
  const front = await serveDouble(double, { authority });
  onTestFinished(async () => {
    double.close();
    await front.close();
    rmSync(directory, { recursive: true });
  });
  const kubeconfig = join(directory, 'kubelet.conf');
  const bootstrap = join(directory, 'bootstrap.conf');
  writeFileSync(bootstrap, kubeconfigText({ front, authority, token }));
  const certDir = join(directory, 'pki');
  /** Starts one run of the kubelet's connection to the API server, with the certificate manager. */
  const start = async (rotateCertificates: boolean, bootstrapKubeconfig = bootstrap) => {
    const flags = { ...defaultsOf(kubeletFlags), kubeconfig, bootstrapKubeconfig, certDir };
    const config = { ...legacyConfiguration({}), rotateCertificates };
    const metrics = new Metrics();
    const open = await loadCluster({
      config,
      flags,
      gates: defaultGates,
      version: 'v1',
      nodeName: 'n',
      clock: realClock,
      random: Math.random,
      log: silentLogger,
    });
    const api = open(observer, metrics);
    const abort = new AbortController();
    const running = await Promise.all(
      (api.components ?? []).map((each) => startComponent(each, abort.signal)),
    );
    const stop = async (): Promise<void> => {
      abort.abort();
      await Promise.all(running.map(({ stopped }) => stopped));
      api.close();
    };
    onTestFinished(stop);
    const node = (): Promise<Node> =>
      api.client.create('/api/v1/nodes', { metadata: { name: 'n' } }, { signal: abort.signal });
    return { api, stop, node, metrics, signal: abort.signal };
  };
  const requests = () => double.objects.list('certificatesigningrequests');
  return { authority, certDir, double, front, kubeconfig, start, requests };
}

for (const rotates of [true, false])
  test(`joins with a token, and requests wait for the certificate, with rotation ${rotates ? 'on' : 'off'}`, async () => {
    const { certDir, double, kubeconfig, start, requests } = await world();
    const run = await start(rotates);
    expect((await run.node()).metadata?.name).toBe('n');
    expect(double.requests.filter(({ resource }) => resource === 'nodes')).toMatchObject([
      { user: 'system:node:n' },
    ]);
    expect(double.requests.filter(({ code }) => code >= 400)).toEqual([]);
    expect(requests()).toHaveLength(1);
    const link = join(certDir, 'kubelet-client-current.pem');
    expect(readdirSync(certDir).toSorted()).toEqual([
      expect.stringMatching(/^kubelet-client-2/),
      'kubelet-client-current.pem',
    ]);
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
    const access = await readKubeconfig(kubeconfig);
    expect(access).toMatchObject({
      clientCertificate: { cert: { file: link }, key: { file: link } },
      token: undefined,
    });
    await run.stop();
    // A restart uses the stored certificate.
    const next = await start(rotates);
    await next.api.client.get('/api/v1/nodes/n', { signal: next.signal });
    expect(requests()).toHaveLength(1);
  });

test('waits for manual approval and creates only one request over restarts', async () => {
  const { certDir, double, kubeconfig, start, requests } = await world({ decide: () => 'wait' });
  const first = await start(true);
  await until(() => requests().length === 1);
  await first.stop();
  expect(readdirSync(certDir)).toEqual(['kubelet-client.key.tmp']);
  expect(() => statSync(kubeconfig)).toThrow();
  const second = await start(true);
  const created = second.node();
  const [csr] = requests();
  const conditions = [{ type: 'Approved', status: 'True', reason: 'Kubectl', message: '' }];
  double.objects.patch(
    'certificatesigningrequests',
    '',
    csr?.metadata?.name ?? '',
    { status: { conditions } },
    'approval',
  );
  await created;
  expect(requests()).toHaveLength(1);
});

test('uses a rotated certificate at once, on new connections', async () => {
  const { authority, certDir, double, front, start, requests } = await world({ seconds: 3_600 });
  // Sign the first one as if most of its hour were over.
  authority.skewMs = -57 * 60_000;
  const run = await start(true);
  await run.node();
  authority.skewMs = 0;
  const link = join(certDir, 'kubelet-client-current.pem');
  const before = readlinkSync(link);
  const connections = front.connections.total;
  await until(() => requests().length >= 2 && readlinkSync(link) !== before);
  while (front.connections.total === connections) {
    await run.api.client.get('/api/v1/nodes/n', { signal: run.signal });
  }
  const [second] = requests().filter(({ metadata }) => metadata?.name?.startsWith('csr-'));
  expect(second?.spec.username).toBe('system:node:n');
  expect(double.requests.filter(({ code }) => code >= 400)).toEqual([]);
  expect(run.metrics.render()).toMatch(/^kubelet_certificate_manager_client_ttl_seconds 35\d\d$/m);
});

test('replaces at once a certificate embedded in the kubeconfig, as on the first control-plane node', async () => {
  const { authority, front, kubeconfig, start, requests } = await world();
  writeFileSync(kubeconfig, kubeconfigText({ front, authority, client: nodeCertificate(authority, 'n') }));
  const run = await start(true, '');
  await until(() => requests().length === 1);
  expect(requests()[0]?.spec.username).toBe('system:node:n');
  await run.node();
});

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 20));
}

test('requests with its old certificate when the node was renamed and the bootstrap kubeconfig is gone', async () => {
  const { authority, double, front, kubeconfig, start } = await world();
  writeFileSync(
    kubeconfig,
    kubeconfigText({ front, authority, client: nodeCertificate(authority, 'before') }),
  );
  await start(true, `${kubeconfig}.gone`);
  await vi.waitFor(() => {
    const requested = double.requests.filter(({ resource }) => resource === 'certificatesigningrequests');
    expect(requested).toContainEqual(expect.objectContaining({ user: 'system:node:before' }));
  });
});
