import { expect, test } from 'vitest';
import type { Container, Pod } from '../../../src/api/k8s/types.ts';
import { aContainer, aPod, type PodOver } from '../../builders/builders.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ApiServerDouble } from '../double.ts';

const resources = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } };

function server(over: PodOver = {}): { api: ApiServerDouble; resize: (change: (pod: Pod) => object) => Pod } {
  const api = new ApiServerDouble({ clock: new FakeClock(0), automount: false });
  const { metadata, spec } = aPod({
    name: 'web',
    nodeName: 'n',
    containers: [aContainer({ resources })],
    ...over,
  });
  const pod = api.objects.create('pods', {
    metadata: metadata ?? {},
    ...(spec === undefined ? {} : { spec }),
  });
  return {
    api,
    resize: (change) => api.objects.patch('pods', 'default', 'web', { spec: change(pod) }, 'resize') as Pod,
  };
}

const containers = (over: Partial<Container>) => (pod: Pod) => ({
  containers: pod.spec?.containers.map((each) => ({ ...each, ...over })),
});

test('a resize changes resources and resize policy, increments the generation, and leaves everything else', () => {
  const { resize } = server();
  const requested = { requests: { cpu: '0.15', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } };
  const pod = resize((old) => ({
    ...containers({ resources: requested, image: 'other' })(old),
    hostname: 'x',
  }));
  expect(pod.spec?.containers[0]?.resources?.requests?.['cpu']).toBe('150m');
  expect([pod.spec?.containers[0]?.image, pod.spec?.hostname, pod.metadata?.generation]).toEqual([
    'docker.io/library/busybox:1',
    undefined,
    2,
  ]);
  expect(resize(containers({ resources: requested })).metadata?.generation).toBe(2);
});

test('pod-level resources and those of a plain init container can be resized', () => {
  const { resize } = server({ resources, initContainers: [aContainer({ name: 'i', resources })] });
  const more = { ...resources, requests: { cpu: '150m', memory: '64Mi' } };
  const pod = resize((old) => ({
    resources: more,
    initContainers: old.spec?.initContainers?.map((each) => ({ ...each, resources: more })),
  }));
  expect([pod.spec?.resources, pod.spec?.initContainers?.[0]?.resources, pod.metadata?.generation]).toEqual([
    more,
    more,
    2,
  ]);
});

const sidecar = aContainer({ name: 's', restartPolicy: 'Always', resources });
const rejected: readonly (readonly [string, PodOver, (pod: Pod) => object, string])[] = [
  [
    'a pod to another QoS class',
    {},
    containers({
      resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '100m', memory: '64Mi' } },
    }),
    'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
  ],
  [
    'a container without its limit',
    {},
    containers({ resources: { requests: resources.requests, limits: { memory: '128Mi' } } }),
    'spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed',
  ],
  [
    'a resource other than cpu and memory',
    {},
    containers({
      resources: { ...resources, requests: { ...resources.requests, 'ephemeral-storage': '1Gi' } },
    }),
    'spec: Forbidden: only cpu and memory resources are mutable',
  ],
  [
    'a request to above its limit',
    {},
    containers({ resources: { ...resources, requests: { cpu: '300m', memory: '64Mi' } } }),
    'spec.containers[0].resources.requests: Invalid value: "300m": must be less than or equal to cpu limit of 200m',
  ],
  [
    'a pod with an added container',
    {},
    (pod) => ({ containers: [...(pod.spec?.containers ?? []), aContainer({ name: 'more' })] }),
    'spec.containers: Forbidden: containers may not be added or removed on resize',
  ],
  [
    'a renamed container',
    {},
    containers({ name: 'other' }),
    'spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize',
  ],
  [
    'an init container that would have to restart',
    {
      initContainers: [
        aContainer({
          name: 'i',
          resources,
          resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }],
        }),
      ],
    },
    (pod) => ({
      initContainers: pod.spec?.initContainers?.map((each) => ({
        ...each,
        resources: { ...resources, requests: { cpu: '150m', memory: '64Mi' } },
      })),
    }),
    'spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
  ],
  [
    'a pod without its pod-level limit',
    { resources },
    () => ({ resources: { limits: { cpu: null } } }),
    'spec.resources.limits: Forbidden: pod-level resource limits cannot be removed',
  ],
  [
    'another pod-level resource',
    { resources },
    () => ({ resources: { limits: { 'hugepages-2Mi': '2Mi' }, requests: { 'hugepages-2Mi': '2Mi' } } }),
    'spec: Forbidden: only cpu and memory resources are mutable at pod-level',
  ],
  [
    'another resource of a sidecar',
    { initContainers: [sidecar] },
    (pod) => ({
      initContainers: pod.spec?.initContainers?.map((each) => ({
        ...each,
        resources: {
          ...resources,
          limits: { ...resources.limits, 'ephemeral-storage': '1Gi' },
          requests: { ...resources.requests, 'ephemeral-storage': '1Gi' },
        },
      })),
    }),
    'spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable',
  ],
  [
    'a mirror pod',
    { annotations: { 'kubernetes.io/config.mirror': 'x' } },
    containers({ resources: { ...resources, requests: { cpu: '150m', memory: '64Mi' } } }),
    'static pods cannot be resized',
  ],
];
for (const [name, over, change, want] of rejected)
  test(`rejects a resize of ${name}`, () => {
    const { resize } = server(over);
    expect(() => resize(change)).toThrow(want);
  });

test('rejects a resize on a node that does not report resources', () => {
  const { api, resize } = server();
  const status = { containerStatuses: [{ name: 'c', state: { running: {} }, ready: true }] };
  api.objects.patch('pods', 'default', 'web', { status }, 'status');
  const change = containers({ resources: { ...resources, requests: { cpu: '150m', memory: '64Mi' } } });
  expect(() => resize(change)).toThrow('Pod running on node without support for resize');
});
