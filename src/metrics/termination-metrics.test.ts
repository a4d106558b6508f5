import { expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { Metrics } from '../base/metrics.ts';
import { TerminationMetrics } from './termination-metrics.ts';

const uid = asPodUid('u1');
const running = (name: string) => ({ name, state: { running: {} } });
const ended = (name: string, exitCode: number, reason: string) => ({
  name,
  state: { terminated: { exitCode, reason } },
});

async function follow(earlier?: { readonly own?: PodStatus; readonly mirror?: PodStatus }) {
  const registry = new Metrics();
  const terminations = new TerminationMetrics(registry);
  let status: PodStatus | undefined;
  const changed = new Channel<PodUid>();
  const at = (given: PodStatus | undefined): Pod | undefined => given && { ...aPod(), status: given };
  const abort = new AbortController();
  await startComponent(
    terminations.follow({
      statuses: { get: () => status, changed },
      desired: { get: () => ({ pod: aPod() }) },
      apiPods: { get: () => at(earlier?.own), mirror: () => at(earlier?.mirror) },
    }),
    abort.signal,
  );
  const report = (next: object | undefined): void => {
    status = next;
    changed.push(uid);
  };
  const samples = (): readonly string[] =>
    registry
      .render()
      .split('\n')
      .filter((line) => line.startsWith('kubelet_'));
  return { report, samples };
}

test('counts each termination once, by type, exit code and reason', async () => {
  const { report, samples } = await follow();
  report({ initContainerStatuses: [ended('i', 0, 'Completed')], containerStatuses: [running('c')] });
  report({
    initContainerStatuses: [ended('i', 0, 'Completed')],
    containerStatuses: [ended('c', 137, 'OOMKilled')],
  });
  report({ containerStatuses: [running('c')], ephemeralContainerStatuses: [ended('e', 1, 'Error')] });
  report({ containerStatuses: [ended('c', 137, 'OOMKilled')] });
  expect(samples()).toEqual([
    'kubelet_terminated_containers_total{container_type="init_container",exit_code="0",reason="Completed"} 1',
    'kubelet_terminated_containers_total{container_type="container",exit_code="137",reason="OOMKilled"} 2',
    'kubelet_terminated_containers_total{container_type="ephemeral_container",exit_code="1",reason="Error"} 1',
  ]);
});

test.each(['own', 'mirror'])(
  'a termination that the API server has already (%s) is not counted',
  async (kind) => {
    const { report, samples } = await follow({
      [kind]: { containerStatuses: [ended('c', 1, 'Error')] } as PodStatus,
    });
    report({ containerStatuses: [ended('c', 1, 'Error'), ended('d', 2, 'Error')] });
    expect(samples()).toEqual([
      'kubelet_terminated_containers_total{container_type="container",exit_code="2",reason="Error"} 1',
    ]);
  },
);

test('a removed pod leaves nothing behind', async () => {
  const { report, samples } = await follow();
  report({ containerStatuses: [ended('c', 1, 'Error')] });
  report(undefined);
  report({ containerStatuses: [ended('c', 1, 'Error')] });
  expect(samples()).toEqual([
    'kubelet_terminated_containers_total{container_type="container",exit_code="1",reason="Error"} 2',
  ]);
});
