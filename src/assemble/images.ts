// Puts together what brings images onto the node: pulls, credentials, the records of who may use what.
import type { CriImages } from '../api/cri/runtime.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { CredentialProviders } from '../config/load/credential-providers.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import { CredentialFinder } from '../images/credentials/find-credentials.ts';
import { NodeDockerConfig } from '../images/credentials/node-docker-config.ts';
import { PluginProvider, type PluginRun } from '../images/credentials/plugin-provider.ts';
import { ImageManager } from '../images/image-manager.ts';
import { PullHistory, type RecordFiles } from '../images/records/pull-history.ts';
import type { VerificationPolicy } from '../images/records/verify-access.ts';
import { SharedPulls } from '../images/shared-pulls.ts';
import type { ImageMetrics } from '../metrics/image-metrics.ts';

/** What pulls need of the machine besides the runtime. */
export interface ImageHost {
  /** Small files that are written whole or not at all. */
  readonly records: RecordFiles;
  readonly programs: (directory: string) => {
    check(names: readonly string[]): Promise<void>;
    run(program: PluginRun, signal: AbortSignal): Promise<string>;
  };
  readonly workingDirectory: string;
  /** The kubelet's own home; empty when it has none. */
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
  /** Undefined unless KubeletEnsureSecretPulledImages is on. Image GC prunes it. */
  readonly history: PullHistory | undefined;
  readonly components: readonly Component[];
}

export function assembleImages(input: ImagesInput): Images {
  const { clock, config, cri, events, flags, host, metrics, objects } = input;
  const log = input.log.with({ component: 'images' });
  const programs = host.programs(flags.imageCredentialProviderBinDir);
  const providers = input.providers?.providers ?? [];
  if (input.providers !== undefined) metrics.setPluginConfig(input.providers.hash);
  const plugins = providers.map(
    (provider) =>
      new PluginProvider({
        config: {
          ...provider,
          tokenAttributes: input.gates.KubeletServiceAccountTokenForCredentialProviders
            ? provider.tokenAttributes
            : undefined,
        },
        run: (program, signal) => programs.run(program, signal),
        objects,
        clock,
        log,
        observe: (...args) => metrics.observePlugin(...args),
      }),
  );
  const places = { rootDir: flags.rootDir, workingDirectory: host.workingDirectory, home: host.home };
  const node = new NodeDockerConfig({ read: (path) => host.records.read(path), places, clock, log });
  const history = pullHistory(input, log);
  const manager = new ImageManager({
    images: cri,
    pulls: new SharedPulls({
      images: cri,
      clock,
      log,
      parallelPulls: parallelPulls(config),
      pullQps: config.registryPullQPS,
      pullBurst: config.registryBurst,
    }),
    credentials: new CredentialFinder({ secrets: { objects, events, log }, node, plugins }),
    history,
    events,
    clock,
    log,
    observePull: (...args) => metrics.observePull(...args),
  });
  const names = providers.map(({ name }) => name);
  const components = names.length === 0 ? [] : [programCheck(() => programs.check(names))];
  return { manager, history, components };
}

function parallelPulls(config: KubeletConfiguration): number {
  if (config.serializeImagePulls) return 1;
  return config.maxParallelImagePulls ?? Number.MAX_SAFE_INTEGER;
}

function pullHistory(input: ImagesInput, log: Logger): PullHistory | undefined {
  const { clock, config, cri, flags, gates, host } = input;
  if (!gates.KubeletEnsureSecretPulledImages) return undefined;
  return new PullHistory({
    files: host.records,
    images: cri,
    rootDir: flags.rootDir,
    verification: {
      policy: config.imagePullCredentialsVerificationPolicy as VerificationPolicy,
      allowlist: config.preloadedImagesVerificationAllowlist,
    },
    clock,
    log,
  });
}

/** A program that is named and cannot be run keeps the kubelet from starting, before any pod misses its credentials. */
function programCheck(check: () => Promise<void>): Component {
  return {
    name: 'credential-providers',
    async start(signal) {
      await check();
      return { stopped: untilAborted(signal) };
    },
  };
}
