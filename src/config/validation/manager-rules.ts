// Rules for the options of the CPU and topology managers. Upstream rejects these when it builds the managers; here they are
// part of the validation. Upstream: pkg/kubelet/cm/cpumanager/policy_options.go, topologymanager/policy_options.go.
import { parseBool } from '../command-line/flag-values.ts';
import type { FeatureGates } from '../gates/feature-gates.ts';
import { parseQuantity } from '../quantity.ts';
import type { KubeletConfiguration } from '../table/kubelet-configuration.ts';
import { quote, type Rule } from './context.ts';

type Stage = 'alpha' | 'beta' | 'stable';

const cpuOptions: ReadonlyMap<string, Stage> = new Map([
  ['full-pcpus-only', 'stable'],
  ['distribute-cpus-across-numa', 'beta'],
  ['align-by-socket', 'alpha'],
  ['distribute-cpus-across-cores', 'alpha'],
  ['strict-cpu-reservation', 'stable'],
  ['prefer-align-cpus-by-uncorecache', 'stable'],
]);

const cpuConflicts = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
] as const;

function disabledGate(stage: Stage, gates: FeatureGates): string | undefined {
  if (stage === 'stable') return undefined;
  const gate = stage === 'alpha' ? 'CPUManagerPolicyAlphaOptions' : 'CPUManagerPolicyBetaOptions';
  return gates[gate] ? undefined : gate;
}

export const cpuManagerRules: Rule = ({ config, gates, fail }) => {
  const path = 'cpuManagerPolicyOptions';
  const options = Object.entries(config.cpuManagerPolicyOptions);
  if (config.cpuManagerPolicy === 'none' && options.length > 0) {
    fail(path, 'may only be set if cpuManagerPolicy is "static"');
    return;
  }
  const on = new Set<string>();
  for (const [name, value] of options) {
    const stage = cpuOptions.get(name);
    const gate = stage === undefined ? undefined : disabledGate(stage, gates);
    const flag = parseBool(value);
    if (stage === undefined) fail(path, `${quote(name)} is not an option of the CPU manager`);
    else if (gate !== undefined) fail(path, `${quote(name)} needs the feature gate ${gate}`);
    else if (flag === undefined) fail(path, `${quote(name)} must be true or false, not ${quote(value)}`);
    else if (flag) on.add(name);
  }
  for (const [one, other] of cpuConflicts) {
    if (on.has(one) && on.has(other)) fail(path, `${quote(one)} and ${quote(other)} are mutually exclusive`);
  }
  if (on.has('align-by-socket') && config.topologyManagerPolicy === 'single-numa-node') {
    fail(path, '"align-by-socket" and the topology manager policy "single-numa-node" are mutually exclusive');
  }
  if (config.cpuManagerPolicy === 'static' && reservedCpuIsZero(config)) {
    fail(
      'cpuManagerPolicy',
      'the static policy needs some CPU reserved by systemReserved, kubeReserved or reservedSystemCPUs',
    );
  }
};

function reservedCpuIsZero(config: KubeletConfiguration): boolean {
  if (config.reservedSystemCPUs !== '') return false;
  return [config.systemReserved, config.kubeReserved].every(
    (reserved) => parseQuantity(reserved['cpu'] ?? '0')?.isZero() ?? false,
  );
}

const minNumaNodes = 8;

/** All options are stable: the gates of alpha and beta options do not matter. */
export const topologyManagerRules: Rule = ({ config, gates, fail }) => {
  const path = 'topologyManagerPolicyOptions';
  const options = Object.entries(config.topologyManagerPolicyOptions);
  if (options.length > 0 && !gates.TopologyManagerPolicyOptions) {
    fail(path, 'needs the feature gate TopologyManagerPolicyOptions');
  }
  for (const [name, value] of options) {
    if (name === 'prefer-closest-numa-nodes') {
      if (parseBool(value) === undefined)
        fail(path, `${quote(name)} must be true or false, not ${quote(value)}`);
    } else if (name === 'max-allowable-numa-nodes') {
      if (!/^[+-]?[0-9]{1,9}$/.test(value) || Number(value) < minNumaNodes) {
        fail(path, `${quote(name)} must be an integer of at least ${minNumaNodes}, not ${quote(value)}`);
      }
    } else fail(path, `${quote(name)} is not an option of the topology manager`);
  }
};
