// The sources of static pods: files and a URL.
import { staticPodHashes } from '../api/pod/static-pod-hash/compute.ts';
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

interface StaticPodSources {
  /** Both undefined if the configuration names no such source. */
  readonly files: FileSource | undefined;
  readonly url: HttpSource | undefined;
}

/** Many times the pods of any node; other programs may put files into the directory. */
const mostPodDirectories = 10_000;

export function assembleSources(
  input: Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log' | 'nodeName'>,
  { desired, observed, pleg }: SourcesRooms,
): StaticPodSources {
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
  const fromFiles = (): FileSource =>
    new FileSource({
      ...shared,
      files: edges.manifests,
      path,
      get fileCheckMs() {
        return config.fileCheckFrequency.ms;
      },
    });
  const fromUrl = (): HttpSource =>
    new HttpSource({
      ...shared,
      get: edges.httpGet,
      endpoint: { url, headers },
      get httpCheckMs() {
        return config.httpCheckFrequency.ms;
      },
    });
  return { files: path === '' ? undefined : fromFiles(), url: url === '' ? undefined : fromUrl() };
}
