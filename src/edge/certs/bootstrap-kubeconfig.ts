// Writes the kubeconfig of a kubelet that has joined, and checks whether an existing one can still be used.
// Upstream: pkg/kubelet/certificate/bootstrap (writeKubeconfigFromBootstrapping, isClientConfigStillValid).
import { readFile } from 'node:fs/promises';
import { stringify } from 'yaml';
import type { ClusterAccess, Material } from '../../api/ports/cluster-access.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { readKubeconfig } from '../apiserver/open-api-server.ts';
import { isMissing } from '../files/pod-files.ts';
import { factsOf, readCertificates } from './read-x509.ts';
import { writeAtomically } from './serving-pair-files.ts';

/**
 * The cluster of the bootstrap kubeconfig, with the certificate instead of the token.
 * differs from upstream: proxy-url and tls-server-name are kept, without which the API server may be unreachable.
 */
function joinedKubeconfig(bootstrap: ClusterAccess, pemPath: string): string {
  const { ca, insecureSkipTlsVerify, proxyUrl, server, tlsServerName } = bootstrap;
  const cluster = {
    ...(ca === undefined
      ? {}
      : 'pem' in ca
        ? { 'certificate-authority-data': Buffer.from(ca.pem.reveal()).toString('base64') }
        : { 'certificate-authority': ca.file }),
    ...(insecureSkipTlsVerify ? { 'insecure-skip-tls-verify': true } : {}),
    ...(proxyUrl === undefined ? {} : { 'proxy-url': proxyUrl.href }),
    server: server.href.replace(/\/$/, ''),
    ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
  };
  const context = { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' };
  return stringify({
    apiVersion: 'v1',
    clusters: [{ cluster, name: 'default-cluster' }],
    contexts: [{ context, name: 'default-context' }],
    'current-context': 'default-context',
    kind: 'Config',
    users: [{ name: 'default-auth', user: { 'client-certificate': pemPath, 'client-key': pemPath } }],
  });
}

export async function writeJoinedKubeconfig(
  path: string,
  bootstrap: ClusterAccess,
  pemPath: string,
): Promise<void> {
  await writeAtomically(path, joinedKubeconfig(bootstrap, pemPath), 0o600);
}

/** Why the kubelet has to bootstrap; undefined when this kubeconfig has a client certificate that has not expired. */
export async function bootstrapReason(path: string, nowMs: number): Promise<string | undefined> {
  let access: ClusterAccess;
  try {
    access = await readKubeconfig(path);
  } catch (err) {
    const missing = err instanceof KubeletError && isMissing(err.cause);
    return missing ? `${path} does not exist` : describeError(err);
  }
  const material = access.clientCertificate?.cert;
  if (material === undefined) return `${path} names no client certificate`;
  try {
    const facts = readCertificates(await readMaterial(material)).map((each) => factsOf(each));
    if (facts.length === 0) return `the client certificate of ${path} is empty`;
    const expired = facts.find(({ notAfterMs }) => nowMs > notAfterMs);
    return (
      expired &&
      `the client certificate of ${path} has expired at ${new Date(expired.notAfterMs).toISOString()}`
    );
  } catch (err) {
    return `the client certificate of ${path} cannot be read: ${describeError(err)}`;
  }
}

export async function readMaterial(material: Material): Promise<string> {
  return 'pem' in material ? material.pem.reveal() : await readFile(material.file, 'utf8');
}
