// Rules for images: garbage collection, parallel pulls, verification of credentials.
// Upstream: validation.go, ValidateAllowlistImagesPatterns in pkg/kubelet/images/pullmanager.
import { quote, type Rule } from './context.ts';

export const imageRules: Rule = ({ config, fail }) => {
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = config;
  if (low >= high)
    fail('imageGCLowThresholdPercent', `${low} must be below imageGCHighThresholdPercent, which is ${high}`);
  const { imageMaximumGCAge: oldest, imageMinimumGCAge: youngest } = config;
  if (youngest.ns < 0n) fail('imageMinimumGCAge', `${youngest} is negative`);
  if (oldest.ns < 0n) fail('imageMaximumGCAge', `${oldest} is negative`);
  if (oldest.ns > 0n && oldest.ns <= youngest.ns) {
    fail('imageMaximumGCAge', `${oldest} must be longer than imageMinimumGCAge, which is ${youngest}`);
  }
  const pulls = config.maxParallelImagePulls;
  if (config.serializeImagePulls && pulls !== undefined && pulls > 1) {
    fail('maxParallelImagePulls', `${pulls} needs serializeImagePulls (--serialize-image-pulls) to be false`);
  }
};

export const imageVerificationRules: Rule = ({ config, gates, fail }) => {
  if (!gates.KubeletEnsureSecretPulledImages) return;
  const policy = config.imagePullCredentialsVerificationPolicy;
  const allowlist = config.preloadedImagesVerificationAllowlist;
  if (policy === '')
    fail('imagePullCredentialsVerificationPolicy', 'must not be empty if its feature gate is enabled');
  if (allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    fail(
      'preloadedImagesVerificationAllowlist',
      'may only be set if imagePullCredentialsVerificationPolicy is NeverVerifyAllowlistedImages',
    );
    return;
  }
  for (const pattern of allowlist) {
    const problem = allowlistProblem(pattern);
    if (problem !== undefined) fail('preloadedImagesVerificationAllowlist', `${quote(pattern)} ${problem}`);
  }
};

/** Host and port, if any, then the path. */
const imageName =
  /^(?:(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?))*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?\/)?([a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)$/;
const maxNameLength = 255;

function allowlistProblem(pattern: string): string | undefined {
  if (pattern !== pattern.trim()) return 'has leading or trailing whitespace';
  if (pattern === '') return 'is empty';
  const wildcard = pattern.endsWith('/*');
  const rest = wildcard ? pattern.slice(0, -1) : pattern;
  if (rest.includes('*')) return 'has a wildcard other than a trailing "/*"';
  if (wildcard) return rest === '/' ? 'names no registry' : undefined;
  const isName = pattern.length <= maxNameLength && imageName.test(pattern);
  return isName ? undefined : 'is not an image name without tag and digest';
}
