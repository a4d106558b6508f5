// Decides whether a pod may use a present image, or must prove its access by pulling it from the registry. Pure.
// Upstream: MustAttemptImagePull in pullmanager/image_pull_manager.go and image_pull_policies.go.
import type { PullCredential } from '../credentials/keyring.ts';
import { parseImageName } from '../image-name.ts';
import { sameCoordinates } from './merge-credentials.ts';
import { type PulledRecord, type RecordedSecret, recordedCredentials } from './pull-record.ts';

export type VerificationPolicy =
  | 'NeverVerify'
  | 'NeverVerifyPreloadedImages'
  | 'NeverVerifyAllowlistedImages'
  | 'AlwaysVerify';

export interface VerificationSettings {
  readonly policy: VerificationPolicy;
  readonly allowlist: readonly string[];
}

export interface AccessRequest {
  /** As the pod spells it. */
  readonly image: string;
  /** Undefined if the image has no record. */
  readonly record: PulledRecord | undefined;
  /** A pull was started, by this or by a previous run of the kubelet. */
  readonly hasIntent: boolean;
  /** All credentials with which the pod could pull the image. */
  readonly credentials: readonly PullCredential[];
}

export type Access =
  | {
      readonly allowed: true;
      /** To be recorded: a known secret with new content, or a new secret with known content. */
      readonly learned?: RecordedSecret;
    }
  | { readonly allowed: false };

/** How many secrets of an image are recorded without a pull. */
const learnLimit = 100;

export function verifyAccess(request: AccessRequest, settings: VerificationSettings): Access {
  const { credentials, hasIntent, image, record } = request;
  if (!needsVerification(image, record !== undefined || hasIntent, settings)) return { allowed: true };
  const known = record?.credentials.get(parseImageName(image).repository);
  if (known === undefined) return { allowed: false };
  if (known.nodePodsAccessible) return { allowed: true };
  const given = credentials.flatMap((credential) => recordedCredentials(credential).secrets);
  for (const secret of given) {
    for (const old of known.secrets) {
      const sameHash = old.credentialHash !== '' && old.credentialHash === secret.credentialHash;
      const sameSecret = sameCoordinates(old, secret);
      const mayLearn = known.secrets.length < learnLimit;
      if (sameHash) return sameSecret || !mayLearn ? { allowed: true } : { allowed: true, learned: secret };
      // The secret was valid once; a later change does not revoke its access.
      if (sameSecret && mayLearn) return { allowed: true, learned: secret };
    }
  }
  const account = credentials.flatMap((credential) => recordedCredentials(credential).serviceAccounts)[0];
  const isKnown = account !== undefined && known.serviceAccounts.some((old) => sameCoordinates(old, account));
  return { allowed: isKnown };
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

/** differs from upstream: compares the full name without tag, as the list spells it; upstream compares the pod's spelling. */
function isAllowlisted(image: string, allowlist: readonly string[]): boolean {
  const { repository } = parseImageName(image);
  return allowlist.some((pattern) =>
    pattern.endsWith('/*') ? repository.startsWith(pattern.slice(0, -1)) : repository === pattern,
  );
}
