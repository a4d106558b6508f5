// Rules for the flags that are not config fields. Upstream: ValidateKubeletFlags in cmd/kubelet/app/options.
import { isLabelValue, isQualifiedName } from '../../api/k8s/names.ts';
import { isForbiddenNodeLabel, kubeletLabelNamespaces, kubeletLabels } from '../node-labels.ts';
import { quote, type Rule } from './context.ts';

export const flagRules: Rule = ({ flags, fail }) => {
  const forbidden = Object.keys(flags.nodeLabels).filter(isForbiddenNodeLabel).toSorted();
  if (forbidden.length > 0) {
    fail(
      '--node-labels',
      `${forbidden.join(', ')}: in the kubernetes.io and k8s.io namespaces a label must be below ${kubeletLabelNamespaces.join(' or ')}, or be one of ${kubeletLabels.join(', ')}`,
    );
  }
  for (const [key, value] of Object.entries(flags.nodeLabels)) {
    for (const problem of isQualifiedName(key)) fail('--node-labels', `the key ${quote(key)}: ${problem}`);
    for (const problem of isLabelValue(value))
      fail('--node-labels', `the value ${quote(value)} of ${key}: ${problem}`);
  }
  if (flags.exitOnLockContention && flags.lockFile === '') {
    fail('--exit-on-lock-contention', 'needs --lock-file');
  }
  const { imageCredentialProviderConfig: providers, imageCredentialProviderBinDir: programs } = flags;
  if (providers !== '' && programs === '') {
    fail('--image-credential-provider-config', 'needs --image-credential-provider-bin-dir');
  }
  if (providers === '' && programs !== '') {
    fail('--image-credential-provider-bin-dir', 'needs --image-credential-provider-config');
  }
  if (flags.cloudProvider !== '' && flags.cloudProvider !== 'external') {
    fail('--cloud-provider', `${quote(flags.cloudProvider)} is no longer supported; use "external"`);
  }
};
