// The room of the images: pulls, credentials, the records of which pods may use which image.
import type { CriImages } from '../api/cri/runtime.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { CredentialProviders } from '../config/load/credential-providers.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import { CredentialFinder } from '../images/credentials/find-credentials.ts';
import { NodeDockerConfig } from '../images/credentials/node-docker-config.ts';
import {
  type PluginPrograms,
  pluginProviders,
  programChecks,
} from '../images/credentials/plugin-providers.ts';
import { ImageManager } from '../images/image-manager.ts';
import { pullHistory, type RecordFiles } from '../images/records/pull-history.ts';
import { pullLimits, SharedPulls } from '../images/shared-pulls.ts';
import type { ImageMetrics } from '../metrics/image-metrics.ts';

/** What pulls need of the machine besides the runtime. */
export interface ImageHost {
  /** Small files that are replaced atomically. */
  readonly records: RecordFiles;
  readonly programs: (directory: string) => PluginPrograms;
  readonly workingDirectory: string;
  /** The kubelet's home directory; empty if it has none. */
  readonly home: string;
}

interface ImagesInput {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly providers: CredentialProviders | undefined;
  readonly cri: Pick<CriImages, 'imageStatus' | 'pullImage' | 'listImages'>;
  readonly host: ImageHost;
  readonly objects: PodObjects;
  readonly events: EventSink;
  readonly metrics: ImageMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Images {
  readonly manager: ImageManager;
  readonly components: readonly Component[];
}

export function assembleImages(input: ImagesInput): Images {
  const { clock, config, cri, events, flags, gates, host, metrics, objects, providers } = input;
  const { rootDir } = flags;
  const log = input.log.with({ component: 'images' });
  const programs = host.programs(flags.imageCredentialProviderBinDir);
  const plugins = pluginProviders({
    configuration: providers,
    allowTokens: gates.KubeletServiceAccountTokenForCredentialProviders,
    programs,
    objects,
    metrics,
    clock,
    log,
  });
  const node = new NodeDockerConfig({
    read: (path) => host.records.read(path),
    directories: { rootDir, workingDirectory: host.workingDirectory, home: host.home },
    clock,
    log,
  });
  const manager = new ImageManager({
    images: cri,
    pulls: new SharedPulls({ images: cri, clock, log, ...pullLimits(config) }),
    credentials: new CredentialFinder({ secrets: { objects, events, log }, node, plugins }),
    history: pullHistory({ config, gates, files: host.records, images: cri, rootDir, clock, log }),
    events,
    clock,
    log,
    observePull: (...args) => metrics.observePull(...args),
  });
  return { manager, components: programChecks(programs, providers) };
}
