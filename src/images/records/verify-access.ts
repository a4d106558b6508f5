// Decides whether a pod may use a present image, or must prove its access by pulling it from the registry. Pure.
// Upstream: MustAttemptImagePull in pullmanager/image_pull_manager.go and image_pull_policies.go.
import type { PullCredential } from '../credentials/keyring.ts';
import { parseImageName, untaggedName } from '../image-name.ts';
import { sameCoordinates } from './merge-credentials.ts';
import {
  type PulledRecord,
  type RecordedCredentials,
  type RecordedSecret,
  recordedCredentials,
} from './pull-record.ts';

export type VerificationPolicy =
  | 'NeverVerify'
  | 'NeverVerifyPreloadedImages'
  | 'NeverVerifyAllowlistedImages'
  | 'AlwaysVerify';

export interface VerificationSettings {
  readonly policy: VerificationPolicy;
  readonly allowlist: readonly string[];
}

export interface PresentImageRecords {
  /** As the pod spells it. */
  readonly image: string;
  /** Undefined if the image has no record, 'invalid' if the record cannot be read. */
  readonly record: PulledRecord | 'invalid' | undefined;
  /** A pull was started, by this or by a previous run of the kubelet. */
  readonly hasIntent: boolean;
}

/** The values of the label `result` of kubelet_imagemanager_image_mustpull_checks_total. */
export type CheckResult = 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate' | 'error';

type Verdict =
  | { readonly result: CheckResult; readonly compareWith?: undefined }
  /** The pod needs one of these credentials. */
  | { readonly compareWith: RecordedCredentials };

export interface Match {
  readonly result: CheckResult;
  /** To be recorded: a known secret with new content, or a new secret with known content. */
  readonly learned?: RecordedSecret;
}

/** How many secrets of an image are recorded without a pull. */
const learnLimit = 100;

/** Whether every pod may use the image, none without a pull, or only pods with certain credentials. */
export function judgeAccess(
  { hasIntent, image, record }: PresentImageRecords,
  settings: VerificationSettings,
): Verdict {
  if (!needsVerification(image, record !== undefined || hasIntent, settings)) {
    return { result: 'credentialPolicyAllowed' };
  }
  // differs from upstream: an invalid record does not overrule the policies that need no record.
  if (record === 'invalid') return { result: 'error' };
  const known = record === undefined ? undefined : credentialsOf(record, image);
  if (known === undefined) return { result: 'mustAuthenticate' };
  if (known.nodePodsAccessible) return { result: 'credentialRecordFound' };
  const isEmpty = known.secrets.length === 0 && known.serviceAccounts.length === 0;
  return isEmpty ? { result: 'mustAuthenticate' } : { compareWith: known };
}

/** Upstream records the name as the pod spells it; previous versions of this kubelet recorded the full name. */
function credentialsOf(record: PulledRecord, image: string): RecordedCredentials | undefined {
  const spelled = record.credentials.get(untaggedName(image));
  const full = record.credentials.get(parseImageName(image).repository);
  if (spelled === undefined || full === undefined || spelled === full) return spelled ?? full;
  return {
    secrets: [...spelled.secrets, ...full.secrets],
    serviceAccounts: [...spelled.serviceAccounts, ...full.serviceAccounts],
    nodePodsAccessible: spelled.nodePodsAccessible || full.nodePodsAccessible,
  };
}

/** `credentials`: all with which the pod could pull the image. */
export function matchCredentials(known: RecordedCredentials, credentials: readonly PullCredential[]): Match {
  const found = 'credentialRecordFound';
  const given = credentials.flatMap((credential) => recordedCredentials(credential).secrets);
  for (const secret of given) {
    for (const old of known.secrets) {
      const sameHash = old.credentialHash !== '' && old.credentialHash === secret.credentialHash;
      const sameSecret = sameCoordinates(old, secret);
      const mayLearn = known.secrets.length < learnLimit;
      if (sameHash) return sameSecret || !mayLearn ? { result: found } : { result: found, learned: secret };
      // The secret was valid once; a later change does not revoke its access.
      if (sameSecret && mayLearn) return { result: found, learned: secret };
    }
  }
  const account = credentials.flatMap((credential) => recordedCredentials(credential).serviceAccounts)[0];
  const isKnown = account !== undefined && known.serviceAccounts.some((old) => sameCoordinates(old, account));
  return { result: isKnown ? found : 'mustAuthenticate' };
}

function needsVerification(image: string, pulledByKubelet: boolean, settings: VerificationSettings): boolean {
  switch (settings.policy) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return pulledByKubelet;
    case 'NeverVerifyAllowlistedImages':
      return !isAllowlisted(image, settings.allowlist);
    case 'AlwaysVerify':
      return true;
  }
}

/** differs from upstream: `busybox` and `docker.io/library/busybox` are the same name; upstream compares the spellings. */
function isAllowlisted(image: string, allowlist: readonly string[]): boolean {
  const names = [untaggedName(image), parseImageName(image).repository];
  return allowlist.some((pattern) => {
    if (pattern.endsWith('/*')) return names.some((name) => name.startsWith(pattern.slice(0, -1)));
    return names.includes(pattern) || names.includes(fullName(pattern));
  });
}

/** The configuration may name what no registry serves. */
function fullName(pattern: string): string {
  try {
    return parseImageName(pattern).repository;
  } catch {
    return pattern;
  }
}
