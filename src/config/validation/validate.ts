// Validates a configuration against every rule and reports all violations together, each with field and flag.
// Upstream: ValidateKubeletConfiguration, ValidateKubeletFlags, and the checks in later steps of its start.
import type { FeatureGates } from '../gates/feature-gates.ts';
import type { Problem } from '../problem.ts';
import type { KubeletConfiguration } from '../table/kubelet-configuration.ts';
import type { KubeletFlags } from '../table/kubelet-flags.ts';
import {
  enforcementRules,
  reservedCpuRules,
  reservedMemoryRules,
  reservedResourceRules,
} from './allocatable-rules.ts';
import { type HostFacts, type Rule, settingName } from './context.ts';
import { dashboardRules } from './dashboard-rules.ts';
import { evictionRules } from './eviction-rules.ts';
import { flagRules } from './flag-rules.ts';
import { imageRules, imageVerificationRules } from './image-rules.ts';
import { cpuManagerRules, topologyManagerRules } from './manager-rules.ts';
import {
  cpuQuotaRules,
  hostRules,
  logRules,
  memoryQosRules,
  podRules,
  restartRules,
  shutdownRules,
  sysctlRules,
  taintRules,
} from './node-rules.ts';
import { addressRules, loggingRules, tlsGroupRules, tlsRules, tracingRules } from './serving-rules.ts';
import { tableRules } from './table-rules.ts';

const rules: readonly Rule[] = [
  tableRules,
  addressRules,
  tlsRules,
  tlsGroupRules,
  imageRules,
  imageVerificationRules,
  hostRules,
  cpuQuotaRules,
  cpuManagerRules,
  topologyManagerRules,
  enforcementRules,
  reservedCpuRules,
  reservedResourceRules,
  reservedMemoryRules,
  evictionRules,
  shutdownRules,
  restartRules,
  taintRules,
  sysctlRules,
  podRules,
  memoryQosRules,
  logRules,
  loggingRules,
  tracingRules,
  flagRules,
  dashboardRules,
];

interface Verdict {
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

interface Subject {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
}

export function validateConfiguration(subject: Subject, host: HostFacts | undefined): Verdict {
  const problems: Problem[] = [];
  const warnings: string[] = [];
  const context = {
    ...subject,
    host,
    fail: (path: string, message: string) => {
      problems.push({ where: settingName(path), message });
    },
    warn: (message: string) => {
      warnings.push(message);
    },
  };
  for (const rule of rules) rule(context);
  return { problems, warnings };
}
