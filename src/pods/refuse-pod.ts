// Refuses pods that ask for what this kubelet cannot give them, instead of running them without it. Pure.
// Upstream: the admit handlers (pkg/kubelet/lifecycle). Invariant: a field that would be ignored is named, never skipped.
import type { Container, Pod, PodSpec } from '../api/k8s.ts';
import { isSidecar } from '../api/restart-policy.ts';

export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

type Check<T> = readonly [path: string, asked: (value: T) => boolean];

const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);

const podChecks: readonly Check<PodSpec>[] = [
  ['spec.ephemeralContainers', (spec) => isSet(spec.ephemeralContainers)],
  ['spec.volumes', (spec) => isSet(spec.volumes)],
  ['spec.hostAliases', (spec) => isSet(spec.hostAliases)],
  ['spec.hostnameOverride', (spec) => isSet(spec.hostnameOverride)],
  ['spec.os.name', (spec) => isSet(spec.os) && spec.os?.name !== 'linux'],
  ['spec.nodeSelector', (spec) => Object.keys(spec.nodeSelector ?? {}).length > 0],
  [
    'spec.affinity.nodeAffinity',
    (spec) => isSet(spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
  ],
  ['spec.hostUsers', (spec) => spec.hostUsers === false],
  ['spec.runtimeClassName', (spec) => isSet(spec.runtimeClassName)],
  ['spec.resourceClaims', (spec) => isSet(spec.resourceClaims)],
  ['spec.activeDeadlineSeconds', (spec) => isSet(spec.activeDeadlineSeconds)],
  ['spec.readinessGates', (spec) => isSet(spec.readinessGates)],
  ['spec.securityContext.appArmorProfile', (spec) => isSet(spec.securityContext?.appArmorProfile)],
];

const containerChecks: readonly Check<Container>[] = [
  ['env[].valueFrom', (container) => (container.env ?? []).some((each) => isSet(each.valueFrom))],
  ['envFrom', (container) => isSet(container.envFrom)],
  ['volumeMounts', (container) => isSet(container.volumeMounts)],
  ['volumeDevices', (container) => isSet(container.volumeDevices)],
  ['lifecycle', (container) => isSet(container.lifecycle)],
  ['resources.claims', (container) => isSet(container.resources?.claims)],
  ['resources', (container) => asksForDevices(container)],
  ['securityContext.appArmorProfile', (container) => isSet(container.securityContext?.appArmorProfile)],
];

/** What only means something with the feature gate ContainerRestartRules, which is off unless it is asked for. */
const ruleChecks: readonly Check<Container>[] = [
  ['restartPolicyRules', (container) => isSet(container.restartPolicyRules)],
  ['restartPolicy', (container) => isSet(container.restartPolicy)],
];

/** Resources that plugins hand out: everything with a domain that is not Kubernetes' own. */
function asksForDevices({ resources }: Container): boolean {
  return Object.keys({ ...resources?.requests, ...resources?.limits }).some(
    (name) => name.includes('/') && !/(^|\.)kubernetes\.io\//.test(name),
  );
}

/** Undefined: it may run. `restartRules`: feature gate ContainerRestartRules. */
export function refusePod(pod: Pod, { restartRules = false } = {}): Refusal | undefined {
  const { spec } = pod;
  if (spec === undefined) return { reason: 'UnexpectedAdmissionError', message: 'the pod has no spec' };
  const checks = restartRules ? containerChecks : [...containerChecks, ...ruleChecks];
  const inList = (list: string, containers: readonly Container[]): readonly string[] =>
    containers.flatMap((container, index) =>
      checks
        .filter(
          ([path, asked]) => asked(container) && !(path === 'restartPolicy' && isSidecarOf(list, container)),
        )
        .map(([path]) => `spec.${list}[${index}].${path}`),
    );
  const fields = [
    ...podChecks.filter(([, asked]) => asked(spec)).map(([path]) => path),
    ...inList('initContainers', spec.initContainers ?? []),
    ...inList('containers', spec.containers),
  ];
  if (fields.length === 0) return undefined;
  return {
    reason: 'UnsupportedPodFeature',
    message: `this kubelet does not support ${fields.join(', ')} yet`,
  };
}

function isSidecarOf(list: string, container: Container): boolean {
  return list === 'initContainers' && isSidecar(container);
}
