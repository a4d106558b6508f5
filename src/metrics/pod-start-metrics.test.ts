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
  const told = (name: string): readonly [count: number, sum: number] => {
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
  const made = (over: Partial<Pod['spec']> = {}): Pod => {
    const pod = aPod();
    return {
      ...pod,
      metadata: { ...pod.metadata, creationTimestamp: at(clock.now()) },
      spec: { containers: [], ...pod.spec, ...over },
    };
  };
  return { clock, made, metrics, registry, running, told };
}

test('a pod of the API: seen, taken up, pulled for, initialised, running', async () => {
  const { clock, made, metrics, registry, running, told } = world();
  const pod = made({ initContainers: [{ name: 'i' }, { name: 's', restartPolicy: 'Always' }] });
  await clock.advance(1_000);
  metrics.wanted(uid, pod);
  await clock.advance(200);
  metrics.worked(uid);
  metrics.worked(uid);
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
  metrics.reported(uid, pod, status);
  metrics.reported(uid, pod, status);
  const totalSeconds = clock.monotonic() / 1000;
  expect(told('containers_per_pod_count')).toEqual([1, 1]);
  expect(told('pod_worker_start_duration_seconds')).toEqual([1, 0.2]);
  expect(told('pod_start_duration_seconds')).toEqual([1, totalSeconds - 1]);
  expect(told('pod_start_total_duration_seconds')).toEqual([1, totalSeconds]);
  expect(told('pod_start_sli_duration_seconds')[0]).toBe(1);
  expect(told('pod_start_sli_duration_seconds')[1]).toBeCloseTo(totalSeconds - 4 - 1.5);
  const first = sampleOf(
    parsePrometheusText(registry.render()),
    'kubelet_first_network_pod_start_sli_duration_seconds',
  );
  expect(first.value).toBeCloseTo(totalSeconds - 5.5);
});

describe('who is not counted', () => {
  test('one that ran before this kubelet saw it', async () => {
    const { clock, made, metrics, running, told } = world();
    const pod = made();
    const before = clock.now();
    await clock.advance(60_000);
    metrics.wanted(uid, pod);
    metrics.reported(uid, pod, running(before));
    expect([told('pod_start_duration_seconds')[0], told('pod_start_total_duration_seconds')[0]]).toEqual([
      0, 0,
    ]);
  });
  test('one that another kubelet had taken up', () => {
    const { made, metrics, running, told } = world();
    const pod = { ...made(), status: { startTime: at(0) } };
    metrics.wanted(uid, pod);
    metrics.reported(uid, pod, running());
    expect(told('pod_start_total_duration_seconds')[0]).toBe(0);
  });
  test('the objective leaves out stateful pods, and static ones have no creation', () => {
    const { made, metrics, running, told } = world();
    const stateful = made({ volumes: [{ name: 'v', hostPath: { path: '/x' } }] });
    metrics.wanted(uid, stateful);
    metrics.reported(uid, stateful, running());
    metrics.wanted(asPodUid('static'), aPod());
    metrics.reported(asPodUid('static'), aPod(), running());
    expect([told('pod_start_total_duration_seconds')[0], told('pod_start_sli_duration_seconds')[0]]).toEqual([
      1, 0,
    ]);
    expect(told('pod_start_duration_seconds')[0]).toBe(2);
  });
  test('one that went away and came back is another start; one that is unknown is none', () => {
    const { made, metrics, running, told } = world();
    metrics.reported(uid, made(), running());
    metrics.worked(uid);
    expect(told('pod_start_duration_seconds')[0]).toBe(0);
    for (let life = 0; life < 2; life++) {
      metrics.wanted(uid, made());
      metrics.reported(uid, made(), running());
      metrics.wanted(uid, undefined);
    }
    expect(told('pod_start_duration_seconds')[0]).toBe(2);
  });
});
