import { describe, expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { parsePrometheusText, sampleOf } from '../../test/clients/prometheus-text.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { Metrics } from '../base/metrics.ts';
import { PodStartMetrics } from './pod-start-metrics.ts';

const uid = asPodUid('u');
const at = (ms: number): string => new Date(ms).toISOString();

function world() {
  const clock = new FakeClock();
  const registry = new Metrics();
  const metrics = new PodStartMetrics(registry, clock);
  const countAndSum = (name: string): readonly [count: number, sum: number] => {
    const families = parsePrometheusText(registry.render());
    const value = (end: string): number =>
      families.get(`kubelet_${name}`)?.samples.find((each) => each.name.endsWith(end))?.value ?? 0;
    return [value('_count'), value('_sum')];
  };
  const running = (startedAtMs = clock.now()): PodStatus => ({
    phase: 'Running',
    containerStatuses: [
      {
        name: 'c',
        image: '',
        imageID: '',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: at(startedAtMs) } },
      },
    ],
  });
  const apiPod = (over: Partial<Pod['spec']> = {}): Pod => {
    const pod = aPod();
    return {
      ...pod,
      metadata: { ...pod.metadata, creationTimestamp: at(clock.now()) },
      spec: { containers: [], ...pod.spec, ...over },
    };
  };
  return { clock, apiPod, metrics, registry, running, countAndSum };
}

test('measures an API pod from its arrival through worker start, pulls and init containers to running', async () => {
  const { clock, apiPod, metrics, registry, running, countAndSum } = world();
  const pod = apiPod({ initContainers: [{ name: 'i' }, { name: 's', restartPolicy: 'Always' }] });
  await clock.advance(1_000);
  metrics.onDesired(uid, pod);
  await clock.advance(200);
  metrics.onLifecycle(uid);
  metrics.onLifecycle(uid);
  // Two pulls that overlap: 4 s in all.
  await Promise.all([
    metrics.during(uid, () => clock.sleep(3_000)),
    clock.advance(1_000).then(() => metrics.during(uid, () => clock.sleep(3_000))),
    clock.advance(3_000),
  ]);
  await clock.advance(2_000);
  const ended = { startedAt: at(0), finishedAt: at(1_500), exitCode: 0 };
  const status: PodStatus = {
    ...running(),
    initContainerStatuses: ['i', 's'].map((name) => ({
      name,
      image: '',
      imageID: '',
      ready: true,
      restartCount: 0,
      state: { terminated: ended },
    })),
  };
  metrics.onStatus(uid, pod, status);
  metrics.onStatus(uid, pod, status);
  const totalSeconds = clock.monotonic() / 1000;
  expect(countAndSum('containers_per_pod_count')).toEqual([1, 1]);
  expect(countAndSum('pod_worker_start_duration_seconds')).toEqual([1, 0.2]);
  expect(countAndSum('pod_start_duration_seconds')).toEqual([1, totalSeconds - 1]);
  expect(countAndSum('pod_start_total_duration_seconds')).toEqual([1, totalSeconds]);
  expect(countAndSum('pod_start_sli_duration_seconds')[0]).toBe(1);
  expect(countAndSum('pod_start_sli_duration_seconds')[1]).toBeCloseTo(totalSeconds - 4 - 1.5);
  const first = sampleOf(
    parsePrometheusText(registry.render()),
    'kubelet_first_network_pod_start_sli_duration_seconds',
  );
  expect(first.value).toBeCloseTo(totalSeconds - 5.5);
});

describe('excluded pods', () => {
  test('does not count a pod that ran before this kubelet saw it', async () => {
    const { clock, apiPod, metrics, running, countAndSum } = world();
    const pod = apiPod();
    const before = clock.now();
    await clock.advance(60_000);
    metrics.onDesired(uid, pod);
    metrics.onStatus(uid, pod, running(before));
    expect([
      countAndSum('pod_start_duration_seconds')[0],
      countAndSum('pod_start_total_duration_seconds')[0],
    ]).toEqual([0, 0]);
  });
  test('does not count a pod that another kubelet had started', () => {
    const { apiPod, metrics, running, countAndSum } = world();
    const pod = { ...apiPod(), status: { startTime: at(0) } };
    metrics.onDesired(uid, pod);
    metrics.onStatus(uid, pod, running());
    expect(countAndSum('pod_start_total_duration_seconds')[0]).toBe(0);
  });
  test('excludes stateful pods from the SLI, and static pods without a creation time', () => {
    const { apiPod, metrics, running, countAndSum } = world();
    const stateful = apiPod({ volumes: [{ name: 'v', hostPath: { path: '/x' } }] });
    metrics.onDesired(uid, stateful);
    metrics.onStatus(uid, stateful, running());
    metrics.onDesired(asPodUid('static'), aPod());
    metrics.onStatus(asPodUid('static'), aPod(), running());
    expect([
      countAndSum('pod_start_total_duration_seconds')[0],
      countAndSum('pod_start_sli_duration_seconds')[0],
    ]).toEqual([1, 0]);
    expect(countAndSum('pod_start_duration_seconds')[0]).toBe(2);
  });
  test('counts a pod that was removed and added again twice, and an unknown pod never', () => {
    const { apiPod, metrics, running, countAndSum } = world();
    metrics.onStatus(uid, apiPod(), running());
    metrics.onLifecycle(uid);
    expect(countAndSum('pod_start_duration_seconds')[0]).toBe(0);
    for (let run = 0; run < 2; run++) {
      metrics.onDesired(uid, apiPod());
      metrics.onStatus(uid, apiPod(), running());
      metrics.onDesired(uid, undefined);
    }
    expect(countAndSum('pod_start_duration_seconds')[0]).toBe(2);
  });
});
