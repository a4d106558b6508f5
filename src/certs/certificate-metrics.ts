// Metrics of the certificate managers. Upstream: pkg/kubelet/certificate/kubelet.go, cmd/kubelet/app/server.go.
import { type Component, on, reaction } from '../base/component.ts';
import type { Metrics } from '../base/metrics.ts';
import type { CertificateManager } from './certificate-manager.ts';

type Measured = Pick<CertificateManager, 'ttlSeconds' | 'renewed' | 'failed'>;

const rotationBuckets = [
  60, 3_600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000,
];

export function measureClientCertificate(registry: Metrics, manager: Measured): Component {
  const ttl = registry.gauge({
    name: 'kubelet_certificate_manager_client_ttl_seconds',
    help: 'Seconds until the client certificate ends, negative when it has ended, +Inf without one.',
  });
  registry.onCollect(() => ttl.set({}, manager.ttlSeconds()));
  const errors = registry.counter({
    name: 'kubelet_certificate_manager_client_expiration_renew_errors',
    help: 'Renewals of the client certificate that failed.',
  });
  errors.inc({}, 0);
  return reaction('client-certificate-metrics', [on(manager.failed, () => errors.inc({}))]);
}

export function measureServingCertificate(registry: Metrics, manager: Measured): Component {
  const ttl = registry.gauge({
    name: 'kubelet_certificate_manager_server_ttl_seconds',
    help: 'Seconds until the serving certificate ends, negative when it has ended, +Inf without one.',
  });
  registry.onCollect(() => ttl.set({}, manager.ttlSeconds()));
  const lived = registry.histogram({
    name: 'kubelet_certificate_manager_server_rotation_seconds',
    help: 'How long serving certificates lived before they were replaced.',
    buckets: rotationBuckets,
  });
  const errors = registry.counter({
    name: 'kubelet_server_expiration_renew_errors',
    help: 'Renewals of the serving certificate that failed.',
  });
  errors.inc({}, 0);
  return reaction('serving-certificate-metrics', [
    on(manager.failed, () => errors.inc({})),
    on(manager.renewed, (livedSeconds) => {
      if (livedSeconds !== undefined) lived.observe({}, livedSeconds);
    }),
  ]);
}
