// Rules for the node: cgroups and the kernel, shutdown, restarts, swap, taints, sysctls, logs.
// Upstream: validation.go, validation_linux.go, CheckTaintValidation, pkg/kubelet/sysctl/allowlist.go.
import { isLabelValue, isQualifiedName } from '../../api/k8s/names.ts';
import { parseQuantity } from '../quantity.ts';
import { versionNumbers } from '../version.ts';
import { quote, type Rule } from './context.ts';

const second = 1_000_000_000n;
const idsUnit = 65536;
const maxIds = 2 ** 32 - 1;

export const hostRules: Rule = ({ config, gates, host, fail, warn }) => {
  if (config.systemCgroups !== '' && config.cgroupRoot === '') {
    fail('systemCgroups', 'needs cgroupRoot (--cgroup-root)');
  }
  const ids = config.userNamespaces?.idsPerPod;
  if (ids !== undefined && (ids < idsUnit || ids > maxIds || ids % idsUnit !== 0)) {
    fail('userNamespaces.idsPerPod', `${ids} must be a multiple of ${idsUnit}, at least that and below 2^32`);
  }
  if (config.cgroupDriver !== 'cgroupfs' && config.cgroupDriver !== 'systemd') {
    warn(`cgroupDriver ${quote(config.cgroupDriver)} is unknown, using cgroupfs.`);
  }
  if (
    config.kubeletCgroups !== '' &&
    config.kubeReservedCgroup !== '' &&
    !config.kubeletCgroups.startsWith(config.kubeReservedCgroup)
  ) {
    warn('kubeletCgroups is not within kubeReservedCgroup, which is not supported.');
  }
  if (host?.cgroupVersion !== 1) return;
  if (config.failCgroupV1) {
    fail(
      'failCgroupV1',
      'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release. To run it regardless, set this to false',
    );
  }
  if (config.singleProcessOOMKill === false) fail('singleProcessOOMKill', 'cannot be false on cgroup v1');
  if (config.memorySwap.swapBehavior === 'LimitedSwap') {
    fail('memorySwap.swapBehavior', '"LimitedSwap" needs cgroup v2');
  }
  if (gates.MemoryQoS) warn('The feature gate MemoryQoS has no effect on cgroup v1.');
};

export const shutdownRules: Rule = ({ config, gates, fail }) => {
  const { shutdownGracePeriod: whole, shutdownGracePeriodCriticalPods: critical } = config;
  if (gates.GracefulNodeShutdown) {
    if (critical.ns > whole.ns) {
      fail(
        'shutdownGracePeriodCriticalPods',
        `${critical} must not be longer than shutdownGracePeriod, which is ${whole}`,
      );
    }
    for (const [path, period] of [
      ['shutdownGracePeriod', whole],
      ['shutdownGracePeriodCriticalPods', critical],
    ] as const) {
      if (period.ns !== 0n && period.ns < second) fail(path, `${period} must be zero or at least 1s`);
    }
  }
  const both = config.shutdownGracePeriodByPodPriority.length > 0 && (whole.ns > 0n || critical.ns > 0n);
  if (both && gates.GracefulNodeShutdownBasedOnPodPriority) {
    fail('shutdownGracePeriodByPodPriority', 'cannot be used together with shutdownGracePeriod');
  }
};

export const restartRules: Rule = ({ config, gates, fail }) => {
  if (!gates.KubeletCrashLoopBackOffMax) return;
  const path = 'crashLoopBackOff.maxContainerRestartPeriod';
  const longest = config.crashLoopBackOff.maxContainerRestartPeriod;
  if (longest === undefined)
    fail(path, 'must be set if the feature gate KubeletCrashLoopBackOffMax is enabled');
  else if (longest.ms < 1000 || longest.ms >= 300_001)
    fail(path, `${longest} is out of range, must be from 1s to 300s`);
};

export const cpuQuotaRules: Rule = ({ config, gates, fail }) => {
  const period = config.cpuCFSQuotaPeriod;
  if (gates.CustomCPUCFSQuotaPeriod && (period.ms < 1 || period.ms > 1000)) {
    fail('cpuCFSQuotaPeriod', `${period} is out of range, must be from 1ms to 1s`);
  }
};

export const taintRules: Rule = ({ config, fail }) => {
  for (const [index, { key, value, timeAdded }] of config.registerWithTaints.entries()) {
    const path = `registerWithTaints[${index}]`;
    for (const problem of isQualifiedName(key)) fail(path, `the key ${quote(key)}: ${problem}`);
    for (const problem of isLabelValue(value)) fail(path, `the value ${quote(value)}: ${problem}`);
    if (timeAdded !== undefined) fail(path, 'timeAdded must not be set');
  }
};

const sysctl = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/;
const namespaced = /^(net\.|fs\.mqueue\.|kernel\.(sem|shm(all|max|mni|_rmid_forced)?|msg(max|mnb|mni)?)$)/;

export const sysctlRules: Rule = ({ config, fail }) => {
  for (const pattern of config.allowedUnsafeSysctls) {
    const [prefix = ''] = pattern.replaceAll('/', '.').split('*');
    if (pattern.length > 253 || !sysctl.test(pattern)) {
      fail('allowedUnsafeSysctls', `${quote(pattern)} is not a valid sysctl name`);
    } else if (!namespaced.test(prefix)) {
      fail('allowedUnsafeSysctls', `${quote(pattern)} is not a namespaced sysctl`);
    }
  }
};

export const podRules: Rule = ({ config, fail }) => {
  // differs from upstream: upstream rejects runOnce; here it works without the server, as in older kubelets.
  if (config.runOnce && config.enableServer) {
    fail('runOnce', 'cannot be used together with enableServer (--enable-server)');
  }
  if (config.containerRuntimeEndpoint === '') fail('containerRuntimeEndpoint', 'must not be empty');
};

/** The default before v1.37. Files that still have it keep working when MemoryQoS is off. */
const formerThrottlingFactor = 0.9;

export const memoryQosRules: Rule = ({ config, gates, fail }) => {
  const { memoryReservationPolicy: policy, memoryThrottlingFactor: factor } = config;
  if (factor !== undefined && !(factor > 0 && factor <= 1)) {
    fail('memoryThrottlingFactor', `${factor} must be above 0 and at most 1`);
  }
  if (gates.MemoryQoS) return;
  if (factor !== undefined && factor !== formerThrottlingFactor) {
    fail('memoryThrottlingFactor', 'needs the feature gate MemoryQoS');
  }
  if (policy === 'TieredReservation') {
    fail('memoryReservationPolicy', `${quote(policy)} needs the feature gate MemoryQoS`);
  }
};

export const logRules: Rule = ({ config, fail }) => {
  const directory = config.podLogsDir;
  if (!directory.startsWith('/')) fail('podLogsDir', `${quote(directory)} is not an absolute path`);
  else if (!isNormalized(directory)) fail('podLogsDir', `${quote(directory)} is not normalized`);
  if (/[\u0080-\uffff]/.test(directory)) {
    fail('podLogsDir', `${quote(directory)} contains non-ASCII characters`);
  }
  const size = parseQuantity(config.containerLogMaxSize);
  if (size === undefined || size.nanos % second !== 0n) {
    fail(
      'containerLogMaxSize',
      `${quote(config.containerLogMaxSize)} is not a whole number of bytes such as 10Mi`,
    );
  }
  if (config.enableSystemLogQuery && !config.enableSystemLogHandler) {
    fail('enableSystemLogQuery', 'needs enableSystemLogHandler');
  }
  const previous = `${versionNumbers.major}.${versionNumbers.minor - 1}`;
  if (!['', previous].includes(config.showHiddenMetricsForVersion)) {
    fail(
      'showHiddenMetricsForVersion',
      `must be empty or ${quote(previous)}, not ${quote(config.showHiddenMetricsForVersion)}`,
    );
  }
};

/** Without empty, "." or ".." segments, and without a trailing slash. */
function isNormalized(path: string): boolean {
  return (
    path === '/' ||
    path
      .slice(1)
      .split('/')
      .every((part) => part !== '' && part !== '.' && part !== '..')
  );
}
