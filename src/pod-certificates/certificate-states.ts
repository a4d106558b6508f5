// The metric of pod certificates by signer and state, counted on scrape.
// Upstream: pkg/kubelet/metrics/collectors/podcertificate_metrics.go.
import type { Pod } from '../api/k8s/types.ts';
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import { type CredentialState, stateLabel } from './credential-state.ts';
import { type ProjectionKey, projectionsOf } from './projections.ts';

interface CertificateStatesDeps {
  readonly registry: Metrics;
  readonly desired: { all(): readonly { readonly pod: Pod }[] };
  readonly credentials: { get(key: ProjectionKey): CredentialState | undefined };
  readonly clock: Pick<Clock, 'now'>;
}

export function measureCertificateStates({
  clock,
  credentials,
  desired,
  registry,
}: CertificateStatesDeps): void {
  const states = registry.gauge({
    name: 'kubelet_podcertificate_states',
    help: 'podCertificate sources of projected volumes, by signer and state.',
    labels: ['signer_name', 'state'],
  });
  registry.onCollect(() => {
    states.clear();
    const counts = new Map<string, number>();
    for (const { key, source } of desired.all().flatMap(({ pod }) => projectionsOf(pod))) {
      const state = credentials.get(key);
      if (state === undefined) continue;
      const labels = { signer_name: source.signerName, state: stateLabel(state, clock.now()) };
      const id = JSON.stringify(labels);
      counts.set(id, (counts.get(id) ?? 0) + 1);
      states.set(labels, counts.get(id) ?? 0);
    }
  });
}
