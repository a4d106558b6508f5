// Validates projected volumes: each source has one type, and paths are unique.
// Upstream: pkg/apis/core/validation (validateProjectionSources, names.go).

import { isDns1123Label, isDns1123Subdomain } from '../../../api/k8s/names.ts';
import type { PodCertificateProjection, VolumeProjection } from '../../../api/k8s/types.ts';
import { checkLabelSelector } from '../metadata.ts';
import { bytesOf, type Violations } from '../violation.ts';
import { checkDownwardFiles } from './downward-api.ts';
import { checkKeysToPaths, checkVolumeFilePath } from './paths.ts';

const shortestTokenSeconds = 600;
const longestTokenSeconds = 2 ** 32;
const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
const shortestCertificateSeconds = 3600;
const daySeconds = 24 * 3600;
const longestCertificateSeconds = 91 * daySeconds;
const domainBytes = 253;
const signerBytes = 571;

export function checkProjected(v: Violations, path: string, sources: readonly VolumeProjection[]): void {
  const paths = new Set<string>();
  for (const [index, source] of sources.entries()) {
    const at = `${path}.sources[${index}]`;
    checkObjects(v, at, source);
    if (source.serviceAccountToken !== undefined)
      checkToken(v, `${at}.serviceAccountToken`, source.serviceAccountToken);
    if (source.clusterTrustBundle !== undefined)
      checkTrustBundle(v, `${at}.clusterTrustBundle`, source.clusterTrustBundle);
    if (source.podCertificate !== undefined)
      checkCertificate(v, `${at}.podCertificate`, source.podCertificate);
    if (Object.values(source).filter((kind) => kind !== undefined).length > 1)
      v.forbidden(at, 'a source has only one kind');
    for (const file of pathsOf(source)) {
      if (paths.has(file)) v.invalid(path, file, 'is the path of two files');
      paths.add(file);
    }
  }
}

/** The paths that are known in advance. As in the API, without that of a token. */
function pathsOf({
  secret,
  configMap,
  downwardAPI,
  clusterTrustBundle,
  podCertificate,
}: VolumeProjection): string[] {
  const items = [...(secret?.items ?? []), ...(configMap?.items ?? []), ...(downwardAPI?.items ?? [])];
  const certificate = podCertificate ?? { credentialBundlePath: '', keyPath: '', certificateChainPath: '' };
  const paths = [
    ...items.map((item) => item.path),
    certificate.credentialBundlePath,
    certificate.keyPath,
    certificate.certificateChainPath,
  ].filter((path) => path !== undefined && path !== '');
  return [...(clusterTrustBundle === undefined ? [] : [clusterTrustBundle.path ?? '']), ...paths] as string[];
}

function checkObjects(v: Violations, at: string, { secret, configMap, downwardAPI }: VolumeProjection): void {
  if (secret !== undefined) {
    v.requiredText(`${at}.secret.name`, secret.name);
    checkKeysToPaths(v, `${at}.secret.items`, secret.items ?? []);
  }
  if (configMap !== undefined) {
    v.requiredText(`${at}.configMap.name`, configMap.name);
    checkKeysToPaths(v, `${at}.configMap.items`, configMap.items ?? []);
  }
  if (downwardAPI !== undefined) checkDownwardFiles(v, `${at}.downwardAPI`, downwardAPI.items ?? []);
}

function checkToken(
  v: Violations,
  path: string,
  token: NonNullable<VolumeProjection['serviceAccountToken']>,
): void {
  const seconds = token.expirationSeconds ?? 0;
  if (seconds < shortestTokenSeconds)
    v.invalid(`${path}.expirationSeconds`, seconds, 'must be at least 10 minutes');
  if (seconds > longestTokenSeconds)
    v.invalid(`${path}.expirationSeconds`, seconds, 'must be at most 2^32 seconds');
  v.requiredText(`${path}.path`, token.path);
  checkVolumeFilePath(v, `${path}.path`, token.path ?? '');
}

function checkTrustBundle(
  v: Violations,
  path: string,
  bundle: NonNullable<VolumeProjection['clusterTrustBundle']>,
): void {
  const { labelSelector, name, signerName } = bundle;
  if (name !== undefined && signerName !== undefined)
    v.invalid(path, bundle, 'must have only one of name and signerName');
  else if (name !== undefined) {
    if (name === '') v.required(`${path}.name`, 'must be the name of an object');
    // The name of a signer's bundle has the signer's name as prefix, with colons for slashes.
    for (const detail of isDns1123Subdomain(name.slice(name.lastIndexOf(':') + 1)))
      v.invalid(`${path}.name`, name, detail);
    if (labelSelector !== undefined)
      v.invalid(`${path}.labelSelector`, labelSelector, 'must not be given with a name');
  } else if (signerName !== undefined) {
    checkSignerName(v, `${path}.signerName`, signerName);
    checkLabelSelector(v, `${path}.labelSelector`, labelSelector);
  } else v.required(path, 'needs name or signerName');
  v.requiredText(`${path}.path`, bundle.path);
  checkVolumeFilePath(v, `${path}.path`, bundle.path ?? '');
}

function checkCertificate(v: Violations, path: string, certificate: PodCertificateProjection): void {
  const { signerName, keyType, maxExpirationSeconds: seconds } = certificate;
  checkSignerName(v, `${path}.signerName`, signerName ?? '');
  if (!keyTypes.includes(keyType)) v.unsupported(`${path}.keyType`, keyType, keyTypes);
  const domain = (signerName ?? '').split('/', 1)[0] ?? '';
  const ofKubernetes = domain === 'kubernetes.io' || domain.endsWith('.kubernetes.io');
  v.range(
    `${path}.maxExpirationSeconds`,
    seconds,
    shortestCertificateSeconds,
    ofKubernetes ? daySeconds : longestCertificateSeconds,
  );
  let paths = 0;
  for (const key of ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const) {
    const file = certificate[key] ?? '';
    if (file !== '') paths += 1;
    checkVolumeFilePath(v, `${path}.${key}`, file);
  }
  if (paths === 0) v.required(path, 'needs one of credentialBundlePath, keyPath and certificateChainPath');
}

/** `example.com/signer-name`: a domain of at least two labels and a path. */
function checkSignerName(v: Violations, field: string, name: string): void {
  if (name === '') {
    v.required(field);
    return;
  }
  const [domain = '', path, ...more] = name.split('/');
  if (path === undefined || more.length > 0) {
    v.invalid(field, name, 'must have the form example.com/signer-name');
    return;
  }
  if (bytesOf(domain) > domainBytes) v.tooLong(field, domainBytes);
  const labels = domain.split('.');
  v.text(field, domain, () => labels.map(isDns1123Label).find((wrong) => wrong.length > 0) ?? []);
  if (labels.length < 2) v.invalid(field, domain, 'must be a domain of at least two parts');
  const parts = path.split('.').map(isDns1123Subdomain);
  for (const detail of parts.find((wrong) => wrong.length > 0) ?? []) v.invalid(field, path, detail);
  if (bytesOf(name) > signerBytes) v.tooLong(field, signerBytes);
}
