// Whether a pod may use an image that is on the node already, or has to show at the registry that it may. Pure.
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

export interface AccessQuestion {
  /** As the pod names it. */
  readonly image: string;
  /** Undefined: there is none. */
  readonly record: PulledRecord | undefined;
  /** A pull of it was begun, now or before the kubelet was killed. */
  readonly hasIntent: boolean;
  /** All that the pod could pull it with. */
  readonly credentials: readonly PullCredential[];
}

export type Access =
  | {
      readonly allowed: true /** The same secret with other content, or another with the same: worth recording. */;
      readonly learned?: RecordedSecret;
    }
  | { readonly allowed: false };

/** How many secrets of one image are learned without a pull. */
const learnLimit = 100;

export function verifyAccess(question: AccessQuestion, settings: VerificationSettings): Access {
  const { credentials, hasIntent, image, record } = question;
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
      // The secret was let in once; that it was changed since does not shut it out.
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

/** differs from upstream: by the name in full without its tag, as the list is written; upstream compares what the pod wrote. */
function isAllowlisted(image: string, allowlist: readonly string[]): boolean {
  const { repository } = parseImageName(image);
  return allowlist.some((pattern) =>
    pattern.endsWith('/*') ? repository.startsWith(pattern.slice(0, -1)) : repository === pattern,
  );
}
