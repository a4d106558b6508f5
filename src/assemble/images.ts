// Images: pulls, credentials, and the records of which pods may use which image.
import type { CriImages } from '../api/cri/runtime.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { StartStages } from '../api/ports/start-stages.ts';
import type { Component } from '../base/component.ts';
import { CredentialFinder } from '../images/credentials/find-credentials.ts';
import { NodeDockerConfig } from '../images/credentials/node-docker-config.ts';
import { pluginProviders, programChecks } from '../images/credentials/plugin-providers.ts';
import { ImageManager } from '../images/image-manager.ts';
import { pullHistory } from '../images/records/pull-history.ts';
import { pullLimits, SharedPulls } from '../images/shared-pulls.ts';
import type { ImageMetrics } from '../metrics/image-metrics.ts';
import type { AssembleInput } from './input.ts';

interface ImagesRooms {
  readonly cri: Pick<CriImages, 'imageStatus' | 'pullImage' | 'listImages'>;
  readonly objects: PodObjects;
  readonly events: EventSink;
  readonly stages: StartStages;
  readonly metrics: ImageMetrics;
}

interface Images {
  readonly manager: ImageManager;
  readonly pulls: SharedPulls;
  /** Undefined if the gate is off. */
  readonly history: ReturnType<typeof pullHistory>;
  readonly components: readonly Component[];
}

export function assembleImages(
  input: Pick<
    AssembleInput,
    'clock' | 'config' | 'credentialProviders' | 'edges' | 'flags' | 'gates' | 'log'
  >,
  { cri, events, metrics, objects, stages }: ImagesRooms,
): Images {
  const { clock, config, credentialProviders: providers, flags, gates } = input;
  const { rootDir } = flags;
  const host = input.edges.imageHost;
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
  const history = pullHistory({
    config,
    gates,
    files: host.records,
    images: cri,
    rootDir,
    metrics,
    clock,
    log,
  });
  const pulls = new SharedPulls({ images: cri, clock, log, limits: pullLimits(config) });
  const manager = new ImageManager({
    images: cri,
    pulls,
    credentials: new CredentialFinder({ secrets: { objects, log }, node, plugins }),
    history,
    events,
    stages,
    clock,
    log,
    metrics,
  });
  return {
    manager,
    pulls,
    history,
    components: [...programChecks(programs, providers), ...(history === undefined ? [] : [history])],
  };
}
