// A serving certificate signed by the cluster: a whole kubelet in memory, with real keys and requests.
import { expect, onTestFinished, test } from 'vitest';
import type { CertificateFacts } from '../../../src/api/ports/certificates.ts';
import type { CertificateOptions } from '../../api-server/rules/certificate-controllers.ts';
import { ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';

const path = '/var/lib/kubelet/pki/kubelet-server-current.pem';

function start(certificates: CertificateOptions = {}): Promise<ClusterWorld> {
  const config = { serverTLSBootstrap: true, tlsCertFile: '', tlsPrivateKeyFile: '' };
  return startCluster({ config, certificates });
}

function requests(world: ClusterWorld) {
  return world.api.objects.list('certificatesigningrequests');
}

function facts(world: ClusterWorld): CertificateFacts | undefined {
  return world.node.certs.pairs.get(path)?.facts;
}

test('is requested with the addresses of the node object, and used again after a restart', async () => {
  const world = await start();
  expect(requests(world)).toMatchObject([
    {
      spec: {
        signerName: 'kubernetes.io/kubelet-serving',
        username: 'system:node:n',
        usages: ['digital signature', 'server auth'],
      },
    },
  ]);
  expect(facts(world)).toMatchObject({ commonName: 'system:node:n', dnsNames: ['n'], ips: ['192.0.2.2'] });
  await world.node.stop();
  await world.node.start();
  await world.advance(60_000);
  expect(requests(world)).toHaveLength(1);
  expect(world.forbidden()).toEqual([]);
});

test('is requested again when an address is added, and not before there is an address', async () => {
  const world = await start();
  const addresses = [
    ...(world.nodeObject()?.status?.addresses ?? []),
    { type: 'ExternalIP', address: '198.51.100.7' },
  ];
  world.api.objects.patch('nodes', '', 'n', { status: { addresses } }, 'status');
  await world.advance(500);
  expect(facts(world)?.ips).toEqual(['192.0.2.2', '198.51.100.7']);
  expect(requests(world)).toHaveLength(2);
});

test('is requested once the node object exists if the API server is down at the start', async () => {
  const world = new ClusterWorld({
    config: { serverTLSBootstrap: true, tlsCertFile: '', tlsPrivateKeyFile: '' },
    certificates: {},
  });
  onTestFinished(() => world.close());
  world.api.faults.goDown();
  await world.node.start();
  await world.advance(60_000);
  expect(facts(world)).toBeUndefined();
  world.api.faults.comeUp();
  await world.advance(70_000);
  expect(facts(world)?.ips).toEqual(['192.0.2.2']);
});

test('without an approval the node is Ready and runs pods', async () => {
  const world = await start({ decide: () => 'wait' });
  world.run('web');
  await world.advance(3_000);
  expect(world.ready('web')).toBe('True');
  expect(facts(world)).toBeUndefined();
  expect(requests(world)).toHaveLength(1);
});
