// The sources of static pods: files and a URL.
import { staticPodHashes } from '../api/pod/static-pod-hash/compute.ts';
import type { Component } from '../base/component.ts';
import type { ObservedPods } from '../pleg/observed-pods.ts';
import type { Pleg } from '../pleg/pleg.ts';
import type { DesiredPods } from '../pods/desired-pods.ts';
import { podsDirectory } from '../runtime/paths.ts';
import { buildPodsBySize } from '../sources/build-pods.ts';
import { FileSource } from '../sources/file-source.ts';
import { HttpSource } from '../sources/http-source.ts';
import { readPodsOnNode } from '../sources/pods-on-node.ts';
import type { AssembleInput } from './input.ts';

interface SourcesRooms {
  readonly desired: DesiredPods;
  readonly observed: ObservedPods;
  readonly pleg: Pleg;
}

/** Many times the pods of any node; other programs may put files into the directory. */
const mostPodDirectories = 10_000;

export function assembleSources(
  input: Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log' | 'nodeName'>,
  { desired, observed, pleg }: SourcesRooms,
): readonly Component[] {
  const { clock, config, edges, flags, gates, nodeName } = input;
  const { staticPodPath: path, staticPodURL: url, staticPodURLHeader: headers } = config;
  const log = input.log.with({ component: 'sources' });
  const shared = {
    buildPods: buildPodsBySize({ hashes: staticPodHashes, decodeInWorker: edges.decode }),
    podsOnNode: readPodsOnNode({
      firstInspection: () => pleg.firstInspection(),
      observed,
      desired,
      podDirectories: () => edges.files.listNames(podsDirectory(flags.rootDir), mostPodDirectories),
      clock,
      log,
    }),
    staticPods: { nodeName, strictIps: gates.StrictIPCIDRValidation },
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
