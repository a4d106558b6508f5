// Plugs together where pods come from: files, a URL, the API server. Nothing is decided here.
import type { Pod } from '../api/k8s/types.ts';
import { staticPodUid } from '../api/pod/static-pod-hash/compute.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { DesiredPods, SourceName } from '../pods/desired-pods.ts';
import { FileSource, type ManifestFiles } from '../sources/file-source.ts';
import { HttpSource, type HttpSourceDeps } from '../sources/http-source.ts';
import { type DecodeInWorker, makePodsBySize } from '../sources/make-pods.ts';

interface SourcesInput {
  readonly config: KubeletConfiguration;
  readonly gates: Pick<FeatureGates, 'PreventStaticPodAPIReferences'>;
  readonly nodeName: string;
  readonly edges: {
    readonly manifests: ManifestFiles;
    readonly decode: DecodeInWorker;
    readonly httpGet: HttpSourceDeps['get'];
  };
  readonly clock: Clock;
  readonly log: Logger;
}

/** Who has to have spoken before a pod may be taken for unwanted. */
export function sourceNames(config: KubeletConfiguration, hasApi: boolean): readonly SourceName[] {
  return [
    ...(hasApi ? ['api' as const] : []),
    ...(config.staticPodPath === '' ? [] : ['file' as const]),
    ...(config.staticPodURL === '' ? [] : ['http' as const]),
  ];
}

/** Those of static pods. */
export function podSources(input: SourcesInput, desired: DesiredPods): readonly Component[] {
  const { clock, config, edges, nodeName } = input;
  const log = input.log.with({ component: 'sources' });
  const staticPods = { nodeName, forbidApiReferences: input.gates.PreventStaticPodAPIReferences };
  const makePods = makePodsBySize({ computeHash: staticPodUid, decodeInWorker: edges.decode });
  const publish = (source: SourceName, pods: readonly Pod[]): void => desired.set(source, pods);
  const sources: Component[] = [];
  if (config.staticPodPath !== '') {
    const { staticPodPath: path, fileCheckFrequency } = config;
    const files = edges.manifests;
    sources.push(
      new FileSource({
        files,
        makePods,
        publish,
        clock,
        log,
        path,
        fileCheckMs: fileCheckFrequency.ms,
        staticPods,
      }),
    );
  }
  if (config.staticPodURL !== '') {
    const endpoint = { url: config.staticPodURL, headers: config.staticPodURLHeader };
    const httpCheckMs = config.httpCheckFrequency.ms;
    sources.push(
      new HttpSource({
        get: edges.httpGet,
        makePods,
        publish,
        clock,
        log,
        endpoint,
        httpCheckMs,
        staticPods,
      }),
    );
  }
  return sources;
}
