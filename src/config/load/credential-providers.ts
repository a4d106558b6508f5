// Reads and validates CredentialProviderConfig: one file, or every .json, .yaml and .yml file of a directory.
// Upstream: pkg/credentialprovider/plugin/config.go. Invariant: names are unique across all files.
import { createHash } from 'node:crypto';
import { isAnnotationKey } from '../../api/k8s/names.ts';
import type { FeatureGates } from '../gates/feature-gates.ts';
import type { Problem } from '../problem.ts';
import {
  type CredentialProvider,
  credentialApiVersions,
  credentialProviderConfig,
} from '../table/credential-providers.ts';
import type { Given } from './decode.ts';
import { absolutePath, type ConfigurationFiles, decodeTyped, type Findings, readText } from './read-files.ts';

export interface CredentialProviders {
  readonly providers: readonly CredentialProvider[];
  /** sha256:… over all files, for the metric kubelet_credential_provider_config_info. */
  readonly hash: string;
}

const group = 'kubelet.config.k8s.io';
const apiVersions = [`${group}/v1`, `${group}/v1beta1`, `${group}/v1alpha1`];

export async function readCredentialProviders(
  path: string,
  files: ConfigurationFiles,
  gates: FeatureGates,
  findings: Findings,
): Promise<CredentialProviders> {
  const providers: CredentialProvider[] = [];
  const hash = createHash('sha256');
  const before = findings.problems.length;
  for (const name of await configPaths(absolutePath(path, files.workingDirectory), files, findings)) {
    const text = await readText(name, files, findings);
    if (text === undefined) continue;
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(Buffer.byteLength(text)));
    hash.update(length).update(text);
    const given = decodeTyped(
      { name, text, apiVersions, kind: 'CredentialProviderConfig', schema: credentialProviderConfig },
      findings,
    );
    providers.push(...providersOf(given));
  }
  if (findings.problems.length === before) findings.problems.push(...checkProviders(path, providers, gates));
  return { providers, hash: `sha256:${hash.digest('hex')}` };
}

async function configPaths(
  path: string,
  files: ConfigurationFiles,
  findings: Findings,
): Promise<readonly string[]> {
  const entries = await files.list(path).catch(() => undefined);
  if (entries === undefined) return [path];
  const names = entries.filter(({ name, isDirectory }) => !isDirectory && /\.(json|ya?ml)$/.test(name));
  if (names.length === 0) {
    findings.problems.push({ where: path, message: 'the directory has no .json, .yaml or .yml file' });
  }
  return names.map(({ name }) => `${path}/${name}`).toSorted();
}

function providersOf(given: Given): readonly CredentialProvider[] {
  return (given['providers'] ?? []) as readonly CredentialProvider[];
}

function checkProviders(
  where: string,
  providers: readonly CredentialProvider[],
  gates: FeatureGates,
): readonly Problem[] {
  const problems: Problem[] = [];
  if (providers.length === 0) problems.push({ where, message: 'providers must not be empty' });
  const seen = new Set<string>();
  for (const provider of providers) {
    const fail = (message: string): void => {
      problems.push({ where: `${where}: provider ${JSON.stringify(provider.name)}`, message });
    };
    if (seen.has(provider.name)) fail('is specified twice');
    seen.add(provider.name);
    checkProvider(provider, fail);
    checkToken(provider, gates, fail);
  }
  return problems;
}

type Fail = (message: string) => void;

function checkProvider(provider: CredentialProvider, fail: Fail): void {
  if (/[/ ]/.test(provider.name) || ['', '.', '..'].includes(provider.name)) {
    fail('the name must be a file name without slashes and spaces');
  }
  if (!credentialApiVersions.some((version) => version === provider.apiVersion)) {
    fail(
      `apiVersion ${JSON.stringify(provider.apiVersion)} must be one of ${credentialApiVersions.join(', ')}`,
    );
  }
  if (provider.matchImages.length === 0) fail('matchImages must not be empty');
  for (const pattern of provider.matchImages) {
    if (!isImagePattern(pattern))
      fail(`matchImages entry ${JSON.stringify(pattern)} is not a host with port and path`);
  }
  const duration = provider.defaultCacheDuration;
  if (duration === undefined) fail('defaultCacheDuration must be set');
  else if (duration.ns < 0n) fail(`defaultCacheDuration ${duration} is negative`);
}

/** Whether the pattern is a URL without scheme: no whitespace, valid escapes, a numeric port. */
function isImagePattern(pattern: string): boolean {
  if (!/^[^\s"<>\\^`{|}]*$/.test(pattern) || /%(?![0-9a-fA-F]{2})/.test(pattern)) return false;
  const host = pattern.split(/[/?#]/)[0] ?? '';
  return host.startsWith('[') ? /^\[[^\]]*\](:[0-9]*)?$/.test(host) : /^[^:%]*(:[0-9]*)?$/.test(host);
}

function checkToken(
  { tokenAttributes: token, apiVersion }: CredentialProvider,
  gates: FeatureGates,
  fail: Fail,
): void {
  if (token === undefined) return;
  if (!gates.KubeletServiceAccountTokenForCredentialProviders) {
    fail('tokenAttributes needs the feature gate KubeletServiceAccountTokenForCredentialProviders');
  }
  if (apiVersion !== credentialApiVersions[0])
    fail(`tokenAttributes needs apiVersion ${credentialApiVersions[0]}`);
  if (token.serviceAccountTokenAudience === '')
    fail('tokenAttributes.serviceAccountTokenAudience must be set');
  if (token.requireServiceAccount === undefined) fail('tokenAttributes.requireServiceAccount must be set');
  if (token.cacheType !== 'ServiceAccount' && token.cacheType !== 'Token') {
    fail(`tokenAttributes.cacheType ${JSON.stringify(token.cacheType)} must be ServiceAccount or Token`);
  }
  const required = token.requiredServiceAccountAnnotationKeys;
  const wanted = token.optionalServiceAccountAnnotationKeys;
  if (token.requireServiceAccount === false && required.length > 0) {
    fail('tokenAttributes.requiredServiceAccountAnnotationKeys needs requireServiceAccount to be true');
  }
  const seen = new Set<string>();
  for (const key of [...required, ...wanted]) {
    for (const fault of isAnnotationKey(key)) fail(`the annotation key ${JSON.stringify(key)}: ${fault}`);
    if (seen.has(key)) fail(`the annotation key ${JSON.stringify(key)} is specified twice`);
    seen.add(key);
  }
}
