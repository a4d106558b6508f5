// The choice between the kubeconfig's identity and a certificate of the kubelet's own, on files and connections in memory.
import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { memoryMaker, memoryPair } from '../../test/fakes/memory-certificates.ts';
import type { CertificatePair } from '../api/ports/certificates.ts';
import type { ClusterAccess } from '../api/ports/cluster-access.ts';
import { startComponent } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { Secret } from '../base/log/secret.ts';
import { Metrics } from '../base/metrics.ts';
import { type ClientIdentityDeps, loadClientIdentity } from './client-identity.ts';
import type { CsrConnection } from './csr-api.ts';

const dayMs = 24 * 3_600_000;

function anAccess(name: string, over: Partial<ClusterAccess> = {}): ClusterAccess {
  return {
    server: new URL(`https://${name}`),
    ca: undefined,
    insecureSkipTlsVerify: false,
    tlsServerName: undefined,
    proxyUrl: undefined,
    clientCertificate: undefined,
    token: new Secret(`token of ${name}`),
    tokenFile: undefined,
    basic: undefined,
    exec: undefined,
    impersonate: undefined,
    ...over,
  };
}

const nodePair = memoryPair('n', {
  commonName: 'system:node:n',
  organizations: ['system:nodes'],
  notBeforeMs: 0,
  notAfterMs: 400 * dayMs,
});

class World {
  readonly clock = new FakeClock(dayMs);
  /** What happened, in order. */
  readonly log: string[] = [];
  readonly kubeconfigs = new Map([['/bootstrap.conf', anAccess('bootstrap')]]);
  stored: CertificatePair | undefined;
  embedded: CertificatePair | undefined;
  storeOptions: unknown;

  async load(over: Partial<ClientIdentityDeps['settings']> = {}) {
    const identity = await loadClientIdentity({
      settings: {
        nodeName: 'n',
        kubeconfig: '/kubelet.conf',
        bootstrapKubeconfig: '/bootstrap.conf',
        certDir: '/pki',
        rotate: true,
        ...over,
      },
      files: {
        readKubeconfig: async (path) => {
          const access = this.kubeconfigs.get(path);
          if (access === undefined) throw new KubeletError('not-found', 'InvalidKubeconfig', path);
          return access;
        },
        bootstrapReason: async (path) => (this.kubeconfigs.has(path) ? undefined : 'it does not exist'),
        writeJoinedKubeconfig: async (path, bootstrap, pemPath) => {
          this.log.push(`write ${path} for ${bootstrap.server.host} with ${pemPath}`);
        },
        embeddedPair: async () => this.embedded,
        store: (options) => {
          this.storeOptions = options;
          return {
            currentPath: '/pki/current.pem',
            current: async () => this.stored,
            update: async () => {
              this.log.push('store the certificate');
              this.stored = nodePair;
              return nodePair;
            },
          };
        },
        pendingKey: () => ({ take: () => memoryMaker.newKey(), drop: async () => undefined }),
      },
      maker: memoryMaker,
      open: ({ server }) => {
        this.log.push(`open ${server.host}`);
        return { ...this.connection(server.host), close: () => void this.log.push(`close ${server.host}`) };
      },
      clock: this.clock,
      random: () => 0.5,
      log: silentLogger,
    });
    const start = async (): Promise<void> => {
      const abort = new AbortController();
      onTestFinished(() => abort.abort());
      for (const component of identity.components) await startComponent(component, abort.signal);
      await this.clock.advance(10);
    };
    return { identity, start };
  }

  /** Issues every certificate at once. */
  connection(name: string): CsrConnection {
    const create = async (_path: string, csr: object): Promise<never> => {
      this.log.push(`request over ${name}`);
      const certificate = Buffer.from('x').toString('base64');
      const status = { conditions: [{ type: 'Approved', status: 'True' }], certificate };
      return { ...csr, status } as never;
    };
    return {
      client: { create, get: () => Promise.reject(new Error('unused')) },
      follow: async () => undefined,
    };
  }
}

test('uses the kubeconfig as it is without bootstrap and rotation', async () => {
  const world = new World();
  const access = anAccess('cluster');
  world.kubeconfigs.set('/kubelet.conf', access);
  const { identity } = await world.load({ rotate: false });
  expect([identity.access, identity.components]).toEqual([access, []]);
});

test('rejects when the kubeconfig does not exist and there is no bootstrap kubeconfig', async () => {
  await expect(new World().load({ bootstrapKubeconfig: '' })).rejects.toThrow('/kubelet.conf');
});

test('requests the first certificate with the bootstrap kubeconfig and then writes the kubeconfig', async () => {
  const world = new World();
  const { identity, start } = await world.load();
  identity.connect(world.connection('own'));
  expect(identity.access).toMatchObject({ server: new URL('https://bootstrap'), token: undefined });
  await start();
  expect(world.log).toEqual([
    'open bootstrap',
    'request over bootstrap',
    'store the certificate',
    'write /kubelet.conf for bootstrap with /pki/current.pem',
    'close bootstrap',
  ]);
});

test('writes a missing kubeconfig at once when the certificate is already stored', async () => {
  const world = new World();
  world.stored = nodePair;
  await world.load();
  expect(world.log).toEqual(['write /kubelet.conf for bootstrap with /pki/current.pem']);
});

test('renews over its own connection the certificate that the kubeconfig names', async () => {
  const world = new World();
  const [cert, key] = [{ file: '/a.crt' }, { file: '/a.key' }];
  world.kubeconfigs.set('/kubelet.conf', anAccess('cluster', { clientCertificate: { cert, key } }));
  world.stored = memoryPair('n', { ...nodePair.facts, notAfterMs: dayMs + 1 });
  const { identity, start } = await world.load();
  identity.connect(world.connection('own'));
  await start();
  expect(world.storeOptions).toEqual({
    directory: '/pki',
    prefix: 'kubelet-client',
    certFile: '/a.crt',
    keyFile: '/a.key',
  });
  expect(world.log).toEqual(['request over own', 'store the certificate']);
});

test('replaces a certificate that is embedded in the kubeconfig at once', async () => {
  const world = new World();
  world.kubeconfigs.set('/kubelet.conf', anAccess('cluster'));
  world.embedded = nodePair;
  const { identity, start } = await world.load({ bootstrapKubeconfig: '' });
  identity.connect(world.connection('own'));
  await start();
  expect(world.log).toEqual(['store the certificate', 'request over own', 'store the certificate']);
});

test('requests with the kubeconfig it was started with when the bootstrap kubeconfig is gone', async () => {
  const world = new World();
  world.kubeconfigs.set('/kubelet.conf', anAccess('cluster'));
  const { start } = await world.load({ bootstrapKubeconfig: '/gone.conf' });
  await start();
  expect(world.log.slice(0, 2)).toEqual(['open cluster', 'request over cluster']);
});

test('measures the certificate only when it is rotated', async () => {
  for (const rotate of [true, false]) {
    const metrics = new Metrics();
    const { identity } = await new World().load({ rotate });
    identity.measure(metrics);
    expect(metrics.render().includes('kubelet_certificate_manager_client_ttl_seconds')).toBe(rotate);
  }
});
