// Certificates of pods on real tmpfs mounts: a container reads its bundle, the key matches the certificate, and a restart of the
// kubelet replaces both without disturbing the container.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Pod, VolumeProjection } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import type { Cluster } from './support/cluster.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { useClusterNode } from './support/suite-node.ts';

const keyTypes = ['ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519', 'RSA3072', 'RSA4096'];

describeOnRig('pod certificates', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;

  useClusterNode((node) => ({ rig, cluster, kubelet } = node));

  const idOf = (pod: Pod): string => pod.status?.containerStatuses?.[0]?.containerID ?? '';
  const inContainer = async (pod: Pod, script: string): Promise<string> => {
    const { stdout } = await rig.cri.execSync({
      containerId: idOf(pod).replace('containerd://', ''),
      cmd: ['sh', '-c', script],
      timeout: 20n,
    });
    return new TextDecoder().decode(stdout);
  };
  const source = (keyType: string): VolumeProjection => ({
    podCertificate: {
      signerName: 'example.com/signer',
      keyType,
      credentialBundlePath: `${keyType}.pem`,
      ...(keyType === 'ED25519' ? { keyPath: 'key.pem', certificateChainPath: 'certs.pem' } : {}),
    },
  });
  /** The certificate of the bundle, whose key must match it. */
  const checked = (bundle: string): X509Certificate => {
    expect(bundle).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
    const at = bundle.indexOf('-----BEGIN CERTIFICATE-----');
    const certificate = new X509Certificate(bundle.slice(at));
    expect(certificate.checkPrivateKey(createPrivateKey(bundle.slice(0, at)))).toBe(true);
    expect(certificate.verify(new X509Certificate(cluster.authority.cert).publicKey)).toBe(true);
    return certificate;
  };

  test('a container reads keys and certificates of every type; a kubelet restart replaces them and nothing else', async () => {
    const volumeMounts = [{ name: 'tls', mountPath: '/tls' }];
    cluster.createPod(
      manifest('tls', {
        volumes: [{ name: 'tls', projected: { sources: keyTypes.map(source), defaultMode: 0o400 } }],
        containers: [container('main', exitsOnTerm, { volumeMounts })],
      }),
    );
    const pod = await cluster.untilReady('tls');
    const kinds: (string | undefined)[] = [];
    for (const keyType of keyTypes) {
      const certificate = checked(await inContainer(pod, `cat /tls/${keyType}.pem`));
      kinds.push(certificate.publicKey.asymmetricKeyType);
    }
    expect(kinds).toEqual(['ec', 'ec', 'ec', 'ed25519', 'rsa', 'rsa']);
    expect(
      await inContainer(pod, 'stat -L -c "%a %u" /tls/ED25519.pem /tls/key.pem; stat -f -c %T /tls'),
    ).toBe('400 0\n400 0\ntmpfs\n');
    const both = await inContainer(pod, 'cat /tls/key.pem /tls/certs.pem');
    expect(both).toBe(await inContainer(pod, 'cat /tls/ED25519.pem'));

    await kubelet.kill9();
    expect(await inContainer(pod, 'cat /tls/ED25519.pem')).toBe(both);
    await kubelet.start();
    await waitFor(
      async () => (await inContainer(pod, 'cat /tls/ED25519.pem')) !== both,
      'new certificates',
      60_000,
    );
    checked(await inContainer(pod, 'cat /tls/ED25519.pem'));
    const after = await cluster.untilReady('tls');
    expect([idOf(after), after.status?.containerStatuses?.[0]?.restartCount]).toEqual([idOf(pod), 0]);
    expect(kubelet.log.lines().join('\n')).not.toContain('PRIVATE KEY');
    cluster.double.objects.delete('pods', 'default', 'tls');
    await cluster.untilGone('tls');
    const refused = cluster.double.requests.filter(({ code, user }) => code === 403 && user.includes('node'));
    expect(refused).toEqual([]);
  });
});
