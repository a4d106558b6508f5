// The sources of static pods: files and a URL.
import { staticPodUid } from '../api/pod/static-pod-hash/compute.ts';
import type { Component } from '../base/component.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import { buildPodsBySize } from '../sources/build-pods.ts';
import { FileSource } from '../sources/file-source.ts';
import { HttpSource } from '../sources/http-source.ts';
import type { AssembleInput } from './input.ts';

export function assembleSources(
  input: Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'gates' | 'log' | 'nodeName'>,
  { desired }: { readonly desired: DesiredPods },
): readonly Component[] {
  const { clock, config, edges, gates, nodeName } = input;
  const { staticPodPath: path, staticPodURL: url, staticPodURLHeader: headers } = config;
  const log = input.log.with({ component: 'sources' });
  const shared = {
    buildPods: buildPodsBySize({ computeHash: staticPodUid, decodeInWorker: edges.decode }),
    staticPods: { nodeName, forbidApiReferences: gates.PreventStaticPodAPIReferences },
    publish: desired.set.bind(desired),
    clock,
    log,
  };
  const fileCheckMs = config.fileCheckFrequency.ms;
  const httpCheckMs = config.httpCheckFrequency.ms;
  return [
    ...(path === '' ? [] : [new FileSource({ ...shared, files: edges.manifests, path, fileCheckMs })]),
    ...(url === ''
      ? []
      : [new HttpSource({ ...shared, get: edges.httpGet, endpoint: { url, headers }, httpCheckMs })]),
  ];
}
