// Rules for the flags that are not config fields. Upstream: ValidateKubeletFlags in cmd/kubelet/app/options.
import { isDns1123Subdomain, isLabelValue, isQualifiedName } from '../../api/k8s/names.ts';
import { isExtendedResource } from '../../api/quantity/extended-resources.ts';
import { isForbiddenNodeLabel, kubeletLabelNamespaces, kubeletLabels } from '../node-labels.ts';
import { parseQuantity } from '../quantity.ts';
import { quote, type Rule } from './context.ts';

const minHistoryBytes = 1024n * 1024n;
const maxHistoryLines = 100;
const longestDriverName = 63;
const shortestWatchMs = 1_000;
const longestWatchMs = 24 * 3_600_000;

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
  const historyBytes = parseQuantity(flags.historyMaxSize)?.value() ?? -1n;
  if (historyBytes !== 0n && historyBytes < minHistoryBytes) {
    fail('--history-max-size', `${quote(flags.historyMaxSize)} is neither 0 nor at least 1Mi`);
  }
  if (flags.historyLogLines < 0 || flags.historyLogLines > maxHistoryLines) {
    fail('--history-log-lines', `${flags.historyLogLines} is not from 0 to ${maxHistoryLines}`);
  }
  const watchMs = flags.liveConfigWatchPeriod.ms;
  if (watchMs < shortestWatchMs || watchMs > longestWatchMs)
    fail('--live-config-watch-period', 'must be from 1s to 24h');
  if (flags.devicePluginWait.ms < 0) fail('--device-plugin-wait', 'must not be negative');
  for (const name of flags.readyRequiresCsiDrivers) {
    if (name.length > longestDriverName) {
      fail('--ready-requires-csi-drivers', `${quote(name)} is longer than ${longestDriverName} characters`);
    }
    for (const problem of isDns1123Subdomain(name.toLowerCase()))
      fail('--ready-requires-csi-drivers', `${quote(name)} is not the name of a CSI driver: ${problem}`);
  }
  for (const name of flags.readyRequiresDevicePlugins) {
    if (!isExtendedResource(name))
      fail('--ready-requires-device-plugins', `${quote(name)} is not the name of an extended resource`);
  }
  const { imageCredentialProviderConfig: providers, imageCredentialProviderBinDir: programs } = flags;
  if (providers !== '' && programs === '') {
    fail('--image-credential-provider-config', 'needs --image-credential-provider-bin-dir');
  }
  if (providers === '' && programs !== '') {
    fail('--image-credential-provider-bin-dir', 'needs --image-credential-provider-config');
  }
  for (const entry of flags.imageGcKeep) {
    if (entry === '') fail('--image-gc-keep', 'has an empty entry');
    if (entry.slice(0, -1).includes('*')) fail('--image-gc-keep', `${quote(entry)} has a * before its end`);
    if (entry !== entry.trim()) fail('--image-gc-keep', `${quote(entry)} has leading or trailing whitespace`);
  }
  if (flags.cloudProvider !== '' && flags.cloudProvider !== 'external') {
    fail('--cloud-provider', `${quote(flags.cloudProvider)} is no longer supported; use "external"`);
  }
};
