// The resize subresource of pods: which changes it applies and which it rejects. Messages are a real server's.
// Upstream: podResizeStrategy in pkg/registry/core/pod/strategy.go and ValidatePodResize in pkg/apis/core/validation.
import { isDeepStrictEqual } from 'node:util';
import type { Container, Pod, ResourceList } from '../../../src/api/k8s/types.ts';
import { computePodQosClass, podQosClass } from '../../../src/api/pod/qos.ts';
import { isSidecar } from '../../../src/api/pod/restart-policy.ts';
import { Quantity } from '../../../src/api/quantity/quantity.ts';
import { ApiError } from '../api-error.ts';
import type { StoredObject } from '../objects/stored-object.ts';

interface Problem {
  readonly field: string;
  readonly type: 'Forbidden' | 'Invalid value';
  readonly message: string;
  readonly value?: string;
}

const lists = ['containers', 'initContainers'] as const;

/** Applies only the resources and resize policies of the request, and increments the generation. */
export function resizeWrite(before: StoredObject, given: StoredObject): StoredObject {
  const [old, requested] = [before as Pod, given as Pod];
  const after = onlyResources(old, requested);
  const problems = validate(old, after);
  if (problems.length > 0) throw invalidPod(old, problems);
  const { generation = 1 } = before.metadata;
  if (isDeepStrictEqual(old.spec, after.spec)) return before;
  return { ...before, spec: after.spec, metadata: { ...before.metadata, generation: generation + 1 } };
}

function onlyResources(old: Pod, requested: Pod): Pod {
  const { resources: _resources, ...rest } = old.spec ?? {};
  const podLevel = requested.spec?.resources;
  const spec = {
    ...rest,
    ...(podLevel === undefined ? {} : { resources: canonical(podLevel) }),
    containers: old.spec?.containers ?? [],
  };
  for (const list of lists) {
    const [had, has] = [old.spec?.[list] ?? [], requested.spec?.[list] ?? []];
    const sameNames = had.length === has.length && had.every(({ name }, at) => has[at]?.name === name);
    if (!sameNames) return { ...old, spec: { ...spec, [list]: has } };
    if (had.length > 0) spec[list] = had.map((each, at) => withResources(each, has[at]));
  }
  return { ...old, spec };
}

function withResources(container: Container, requested: Container | undefined): Container {
  const { resizePolicy: _policy, resources: _resources, ...rest } = container;
  return {
    ...rest,
    ...(requested?.resources === undefined ? {} : { resources: canonical(requested.resources) }),
    ...(requested?.resizePolicy === undefined ? {} : { resizePolicy: requested.resizePolicy }),
  };
}

function canonical(resources: NonNullable<Container['resources']>): NonNullable<Container['resources']> {
  const list = (amounts: ResourceList | undefined): ResourceList | undefined =>
    amounts &&
    Object.fromEntries(
      Object.entries(amounts).map(([name, amount]) => [name, Quantity.fromJson(amount).toString()]),
    );
  const [limits, requests] = [list(resources.limits), list(resources.requests)];
  // A limit without a request sets the request, as for a new pod.
  const requested = { ...limits, ...requests };
  return {
    ...(limits === undefined ? {} : { limits }),
    ...(Object.keys(requested).length === 0 ? {} : { requests: requested }),
    ...(resources.claims === undefined ? {} : { claims: resources.claims }),
  };
}

function validate(old: Pod, pod: Pod): readonly Problem[] {
  const forbidden = (field: string, message: string): Problem => ({ field, type: 'Forbidden', message });
  if (old.metadata?.annotations?.['kubernetes.io/config.mirror'] !== undefined)
    return [forbidden('', 'static pods cannot be resized')];
  const problems: Problem[] = tooSmallLimits(pod);
  if (podQosClass(old) !== computePodQosClass(pod))
    problems.push({
      field: 'spec',
      type: 'Invalid value',
      value: JSON.stringify(old.status?.qosClass ?? ''),
      message: 'Pod QOS Class may not change as a result of resizing',
    });
  const running = old.status?.containerStatuses?.find(({ state }) => state?.running !== undefined);
  if (running !== undefined && running.resources === undefined)
    problems.push(forbidden('spec', 'Pod running on node without support for resize'));
  problems.push(...podLevelProblems(old, pod, forbidden));
  for (const list of lists) {
    const [had, has] = [old.spec?.[list] ?? [], pod.spec?.[list] ?? []];
    if (had.length !== has.length)
      problems.push(forbidden(`spec.${list}`, `${list} may not be added or removed on resize`));
    else problems.push(...listProblems(list, had, has, forbidden));
  }
  return problems;
}

function listProblems(
  list: (typeof lists)[number],
  had: readonly Container[],
  has: readonly Container[],
  forbidden: (field: string, message: string) => Problem,
): readonly Problem[] {
  return had.flatMap((old, at) => {
    const container = has[at] ?? old;
    const path = `spec.${list}[${at}]`;
    if (container.name !== old.name)
      return forbidden(`${path}.name`, `${list} may not be renamed or reordered on resize`);
    const removed = (['requests', 'limits'] as const)
      .filter((kind) => wasRemoved(old.resources?.[kind], container.resources?.[kind]))
      .map((kind) => forbidden(`${path}.resources.${kind}`, `resource ${kind} cannot be removed`));
    const isInit = list === 'initContainers';
    const which = isInit ? 'resources for init or sidecar containers' : 'resources';
    const others = isDeepStrictEqual(withoutCpuAndMemory(container), withoutCpuAndMemory(old))
      ? []
      : [forbidden(isInit ? path : 'spec', `only cpu and memory ${which} are mutable`)];
    return [...removed, ...others, ...restartProblems(path, isInit, old, container, forbidden)];
  });
}

/** A plain init container runs once. */
function restartProblems(
  path: string,
  isInit: boolean,
  old: Container,
  container: Container,
  forbidden: (field: string, message: string) => Problem,
): readonly Problem[] {
  if (!isInit || isSidecar(container) || isDeepStrictEqual(container, old)) return [];
  const message = 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized';
  return (container.resizePolicy ?? [])
    .filter(({ restartPolicy }) => restartPolicy === 'RestartContainer')
    .map(() => forbidden(path, message));
}

function podLevelProblems(
  old: Pod,
  pod: Pod,
  forbidden: (field: string, message: string) => Problem,
): readonly Problem[] {
  const [before, after] = [old.spec?.resources, pod.spec?.resources];
  if (before === undefined && after === undefined) return [];
  if (after === undefined) return [forbidden('spec.resources', 'pod-level resources cannot be removed')];
  const removed = (['requests', 'limits'] as const)
    .filter((kind) => wasRemoved(before?.[kind], after[kind]))
    .map((kind) => forbidden(`spec.resources.${kind}`, `pod-level resource ${kind} cannot be removed`));
  const others = (resources: typeof before): object =>
    withoutCpuAndMemory({ name: '', ...(resources === undefined ? {} : { resources }) });
  return isDeepStrictEqual(others(before), others(after))
    ? removed
    : [...removed, forbidden('spec', 'only cpu and memory resources are mutable at pod-level')];
}

function wasRemoved(old: ResourceList | undefined, now: ResourceList | undefined): boolean {
  return Object.keys(old ?? {}).some((name) => now?.[name] === undefined);
}

function withoutCpuAndMemory({ resources, ...rest }: Container): object {
  const list = (amounts: ResourceList | undefined): object => {
    const { cpu: _cpu, memory: _memory, ...others } = amounts ?? {};
    return others;
  };
  return { ...rest, limits: list(resources?.limits), requests: list(resources?.requests) };
}

function tooSmallLimits({ spec }: Pod): Problem[] {
  return lists.flatMap((list) =>
    (spec?.[list] ?? []).flatMap(({ resources }, at) =>
      Object.entries(resources?.requests ?? {}).flatMap(([name, text]): Problem[] => {
        const limit = resources?.limits?.[name];
        if (limit === undefined || Quantity.parse(text).cmp(Quantity.parse(limit)) <= 0) return [];
        const field = `spec.${list}[${at}].resources.requests`;
        const message = `must be less than or equal to ${name} limit of ${limit}`;
        return [{ field, type: 'Invalid value', value: JSON.stringify(text), message }];
      }),
    ),
  );
}

function invalidPod({ metadata }: Pod, problems: readonly Problem[]): ApiError {
  const texts = problems.map(({ field, message, type, value }) => {
    const text = value === undefined ? `${type}: ${message}` : `${type}: ${value}: ${message}`;
    return { field, text, reason: type === 'Forbidden' ? 'FieldValueForbidden' : 'FieldValueInvalid' };
  });
  const name = metadata?.name ?? '';
  const lines = texts.map(({ field, text }) => `${field === '' ? '<nil>' : field}: ${text}`);
  const list = lines.length === 1 ? (lines[0] ?? '') : `[${lines.join(', ')}]`;
  return new ApiError(422, 'Invalid', `Pod "${name}" is invalid: ${list}`, {
    name,
    kind: 'Pod',
    causes: texts.map(({ field, reason, text }) => ({ reason, message: text, field })),
  });
}
