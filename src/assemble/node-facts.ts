// Finds out what the node's object shows: asks the host, the runtime and whoever else knows a part of it.
// Invariant: none of them is waited for longer than a moment; who does not answer is told of as before.
import type { CriImages, CriRuntime } from '../api/cri/runtime.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { isAbortOf } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type {
  NodeFacts,
  NodeIdentity,
  NodeImage,
  NodeNetwork,
  NodePressure,
  NodeResources,
} from '../node/node-facts.ts';
import type { RuntimeState } from '../node/runtime-state.ts';

export interface NodeHost {
  architecture(): string;
  identity(): Promise<NodeIdentity>;
  network(name: string): Promise<NodeNetwork>;
}

/** What other features know of the node. */
export interface NodeFeatureFacts {
  readonly resources: NodeResources;
  pressure?(): NodePressure;
  /** Undefined until the volumes of an earlier life are known. */
  volumesInUse?(): readonly string[] | undefined;
  /** Beyond runtime and network: storage, a shutdown under way. */
  problems?(): readonly string[];
}

interface GatherDeps {
  readonly host: NodeHost;
  readonly cri: Pick<CriRuntime, 'version'> & Pick<CriImages, 'listImages'>;
  readonly runtime: RuntimeState;
  readonly features: NodeFeatureFacts;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const answerMs = 5_000;
const noPressure: NodePressure = { memory: false, disk: false, pid: false };
const nowhere: NodeNetwork = { hostAddresses: [], nameAddresses: [], defaultAddresses: [] };

export function gatherNodeFacts(deps: GatherDeps): (signal: AbortSignal) => Promise<NodeFacts> {
  const { clock, cri, features, host, log, nodeName, runtime } = deps;
  let version: NodeFacts['runtime'];
  const soon = async <T>(what: string, signal: AbortSignal, work: Promise<T>): Promise<T | undefined> => {
    try {
      return await withDeadline({ clock, ms: answerMs, signal, what }, () => work);
    } catch (err) {
      if (isAbortOf(err, signal)) throw err;
      log.v(2).info('The node status goes without it', { what, err });
      return undefined;
    }
  };
  return async (signal) => {
    const options = { signal, timeoutMs: answerMs };
    const [identity, network, answer, images] = await Promise.all([
      host.identity(),
      soon("the node's addresses", signal, host.network(nodeName)),
      soon("the runtime's version", signal, cri.version({}, options)),
      soon('the list of images', signal, cri.listImages({}, options)),
    ]);
    if (answer !== undefined) version = { name: answer.runtimeName, version: answer.runtimeVersion };
    return {
      identity,
      network: network ?? nowhere,
      resources: features.resources,
      runtime: version,
      images: images?.images.map(toImage),
      runtimeHandlers: runtime.handlers,
      features: runtime.features,
      problems: [...runtime.problems(), ...(features.problems?.() ?? [])],
      pressure: features.pressure?.() ?? noPressure,
      volumesInUse: features.volumesInUse?.(),
    };
  };
}

function toImage(image: {
  readonly repoDigests: readonly string[];
  readonly repoTags: readonly string[];
  readonly size: bigint;
}): NodeImage {
  return { digests: image.repoDigests, tags: image.repoTags, sizeBytes: Number(image.size) };
}
