// Validates containers: the common rules, and those of each type.
// Upstream: pkg/apis/core/validation (validateContainers, validateInitContainers, validateEphemeralContainers).

import { isDns1123Label, isPortName, isPortNumber } from '../../../api/k8s/names.ts';
import type {
  Container,
  ContainerPort,
  EphemeralContainer,
  PodSpec,
  Volume,
} from '../../../api/k8s/types.ts';
import { checkSecurityContext } from '../security.ts';
import type { Violations } from '../violation.ts';
import { pullPolicies } from '../volumes/volume-sources.ts';
import { checkEnv, checkEnvFrom } from './env.ts';
import { checkMounts } from './mounts.ts';
import { checkHandlers, type HandlerContext } from './probes.ts';
import { checkResources } from './resources.ts';
import { checkResizePolicy, checkRestartRules } from './restart-rules.ts';

export interface ContainerContext extends HandlerContext {
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly claimNames: ReadonlySet<string>;
  readonly podRestartPolicy: string | undefined;
  readonly hostUsers: boolean;
  /** The gate ContainerRestartRules. */
  readonly restartRules: boolean;
}

export function checkContainers(v: Violations, spec: PodSpec, context: ContainerContext): void {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  if (containers.length === 0) v.required('spec.containers');
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const path = `spec.containers[${index}]`;
    checkCommon(v, path, container, context);
    checkUnique(v, path, container.name, names);
    checkHandlers(v, path, container, context);
    if (context.restartRules) checkRestartRules(v, path, container);
    else if (container.restartPolicy !== undefined)
      v.forbidden(`${path}.restartPolicy`, 'only init containers have a restart policy of their own');
  }
  checkHostPorts(
    v,
    containers.map((container, index) => [`spec.containers[${index}]`, container]),
  );
  for (const [index, container] of initContainers.entries()) {
    const path = `spec.initContainers[${index}]`;
    checkCommon(v, path, container, context);
    checkUnique(v, path, container.name, names);
    checkInit(v, path, container, context);
    // Init containers run one at a time, so only ports of the same one can conflict.
    checkHostPorts(v, [[path, container]]);
  }
  const others = new Set(names);
  for (const [index, container] of ephemeralContainers.entries()) {
    const path = `spec.ephemeralContainers[${index}]`;
    checkCommon(v, path, container, context);
    checkUnique(v, path, container.name, names);
    checkEphemeral(v, path, container, others);
  }
}

function checkUnique(v: Violations, path: string, name: string | undefined, names: Set<string>): void {
  if (!name) return;
  if (names.has(name)) v.duplicate(`${path}.name`, name);
  names.add(name);
}

function checkCommon(
  v: Violations,
  path: string,
  container: Container | EphemeralContainer,
  context: ContainerContext,
): void {
  v.requiredText(`${path}.name`, container.name, isDns1123Label);
  v.requiredText(`${path}.image`, container.image);
  if (container.image !== undefined && container.image.trim() !== container.image)
    v.invalid(`${path}.image`, container.image, 'must not have blanks at its ends');
  v.requiredWord(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    'File',
    'FallbackToLogsOnError',
  ]);
  checkPorts(v, `${path}.ports`, container.ports ?? []);
  checkEnv(v, `${path}.env`, container.env ?? []);
  checkEnvFrom(v, `${path}.envFrom`, container.envFrom ?? []);
  checkMounts(v, path, container, context.volumes);
  v.requiredWord(`${path}.imagePullPolicy`, container.imagePullPolicy, pullPolicies);
  checkResources(v, `${path}.resources`, container.resources, context.claimNames);
  checkResizePolicy(v, `${path}.resizePolicy`, container.resizePolicy ?? [], context.podRestartPolicy);
  checkSecurityContext(v, `${path}.securityContext`, container.securityContext, context.hostUsers);
}

function checkPorts(v: Violations, path: string, ports: readonly ContainerPort[]): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `${path}[${index}]`;
    const wrong = port.name ? isPortName(port.name) : [];
    for (const detail of wrong) v.invalid(`${at}.name`, port.name, detail);
    if (port.name && wrong.length === 0) checkUnique(v, at, port.name, names);
    if (!port.containerPort) v.required(`${at}.containerPort`);
    else
      for (const detail of isPortNumber(port.containerPort))
        v.invalid(`${at}.containerPort`, port.containerPort, detail);
    if (port.hostPort)
      for (const detail of isPortNumber(port.hostPort)) v.invalid(`${at}.hostPort`, port.hostPort, detail);
    v.requiredWord(`${at}.protocol`, port.protocol, ['SCTP', 'TCP', 'UDP']);
  }
}

/** Containers that run together must not share a host port. */
function checkHostPorts(v: Violations, containers: readonly (readonly [string, Container])[]): void {
  const taken = new Set<string>();
  for (const [path, { ports = [] }] of containers)
    for (const [index, port] of ports.entries()) {
      if (!port.hostPort) continue;
      const key = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (taken.has(key)) v.duplicate(`${path}.ports[${index}].hostPort`, key);
      taken.add(key);
    }
}

function checkInit(v: Violations, path: string, container: Container, context: ContainerContext): void {
  const sidecar = container.restartPolicy === 'Always';
  if (sidecar) checkHandlers(v, path, container, context);
  else {
    const { lifecycle, livenessProbe, readinessProbe, startupProbe } = container;
    const fields = Object.entries({ lifecycle, livenessProbe, readinessProbe, startupProbe });
    v.unset(
      Object.fromEntries(fields.map(([key, value]) => [`${path}.${key}`, value])),
      'only an init container with restartPolicy Always can have it',
    );
  }
  if (container.restartPolicy === undefined) return;
  if (!context.restartRules) v.word(`${path}.restartPolicy`, container.restartPolicy, ['Always']);
  else checkRestartRules(v, path, container);
}

/** Ephemeral containers are for debugging: the workload must not depend on them. */
const notEphemeral = [
  'lifecycle',
  'livenessProbe',
  'ports',
  'readinessProbe',
  'resizePolicy',
  'resources',
  'restartPolicy',
  'restartPolicyRules',
  'startupProbe',
] as const;

function checkEphemeral(
  v: Violations,
  path: string,
  container: EphemeralContainer,
  others: ReadonlySet<string>,
): void {
  const target = container.targetContainerName;
  if (target && !others.has(target)) v.notFound(`${path}.targetContainerName`, target);
  const { limits, requests, claims } = container.resources ?? {};
  const fields = { ...container, resources: limits ?? requests ?? claims };
  const message = 'an ephemeral container cannot have it';
  v.unset(Object.fromEntries(notEphemeral.map((key) => [`${path}.${key}`, fields[key]])), message);
  for (const [index, { subPath, subPathExpr }] of (container.volumeMounts ?? []).entries()) {
    const at = `${path}.volumeMounts[${index}]`;
    v.unset({ [`${at}.subPath`]: subPath, [`${at}.subPathExpr`]: subPathExpr }, message);
  }
}
