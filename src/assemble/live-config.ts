// What a kubelet shows of its configurations: events, metrics and /configz/history; and what the live configuration asks of the
// kubelet. The configurations themselves outlive it.
import type { CriImages } from '../api/cri/runtime.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { Component } from '../base/component.ts';
import type { Store } from '../base/store.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import { configNotices } from '../live-config/config-notices.ts';
import { ImageServiceCheck } from '../live-config/image-service-check.ts';
import { measureConfigStatus } from '../live-config/live-config-metrics.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { settingsFault } from '../resources/allocatable/settings-fault.ts';
import { configHistoryHandler } from '../server/config-history-handler.ts';
import { type HealthCheck } from '../server/health.ts';
import type { RouteHandlers } from '../server/routes.ts';
import type { AssembleInput } from './input.ts';

interface LiveConfigRooms {
  readonly events: Pick<EventSink, 'node'>;
  readonly metrics: Pick<KubeletMetrics, 'registry'>;
  readonly cri: Pick<CriImages, 'imageFsInfo'>;
  readonly checks: readonly HealthCheck[];
  readonly shutdown: { readonly isShuttingDown: boolean };
}

/** The kubelet as the live configuration sees it. */
export interface KubeletTrial {
  /** All must pass during a trial. */
  readonly checks: readonly HealthCheck[];
  /** Why a start with these settings would fail on this machine. */
  fault(config: KubeletConfiguration): string | undefined;
  /** The machine is being shut down. */
  isShuttingDown(): boolean;
}

interface AssembledLiveConfig {
  readonly components: readonly Component[];
  readonly handlers: RouteHandlers;
  readonly stores: readonly Store[];
  readonly trial: KubeletTrial | undefined;
}

type LiveConfigInput = Pick<AssembleInput, 'capacity' | 'config' | 'configStatus' | 'flags' | 'topology'>;

/** Nothing without --live-config. */
export function assembleLiveConfig(
  { capacity, config, configStatus, flags, topology }: LiveConfigInput,
  { checks, cri, events, metrics, shutdown }: LiveConfigRooms,
): AssembledLiveConfig {
  if (configStatus === undefined) return { components: [], handlers: {}, stores: [], trial: undefined };
  const images = new ImageServiceCheck({
    imageFsInfo: (request, options) => cri.imageFsInfo(request, options),
    requestTimeoutMs: () => config.runtimeRequestTimeout.ms,
  });
  measureConfigStatus(metrics.registry, configStatus);
  return {
    components: [configNotices(configStatus, events)],
    handlers: { configHistory: configHistoryHandler(configStatus) },
    stores: [configStatus],
    trial: {
      checks: [...checks, { name: 'image-service', check: () => images.check() }],
      fault: (config) => settingsFault(config, flags, { capacity, topology }),
      isShuttingDown: () => shutdown.isShuttingDown,
    },
  };
}
