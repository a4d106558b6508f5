import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../test/builders/builders.ts';
import type { Pod } from '../api/k8s/types.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { Metrics } from '../base/metrics.ts';
import { AdmissionMetrics } from './admission-metrics.ts';

const some = { requests: { cpu: '1' } };
const cases: readonly (readonly [string, Pod, string])[] = [
  ['nothing', aPod(), 'config_mode="",qos_class="besteffort"'],
  [
    'containers',
    aPod({ containers: [aContainer({ resources: some })] }),
    'config_mode="container_level",qos_class="burstable"',
  ],
  [
    'init containers',
    aPod({ initContainers: [aContainer({ name: 'i', resources: some })] }),
    'config_mode="container_level",qos_class="burstable"',
  ],
  [
    'the pod',
    aPod({ resources: { requests: { cpu: '1', memory: '1' }, limits: { cpu: '1', memory: '1' } } }),
    'config_mode="pod_level",qos_class="guaranteed"',
  ],
  [
    'both',
    aPod({ containers: [aContainer({ resources: some })], resources: { limits: { cpu: '2' } } }),
    'config_mode="pod_and_container_level",qos_class="burstable"',
  ],
];

test.each(cases)('counts an admitted pod with resources on %s', async (_name, pod, labels) => {
  const registry = new Metrics();
  const changed = new Channel<PodUid>();
  const component = new AdmissionMetrics(registry).follow({ admittedPod: () => pod, changed });
  await startComponent(component, new AbortController().signal);
  changed.push(asPodUid('u1'));
  expect(registry.render()).toContain(`kubelet_pod_level_resources_admission_total{${labels}} 1`);
});
