// POST /checkpoint/NAMESPACE/POD/CONTAINER: lets the runtime write a container's state to an archive below the kubelet's root.
// Upstream: checkpoint in pkg/kubelet/server/server.go and CheckpointContainer in pkg/kubelet/kubelet.go.
import { type CriRuntime, rpcErrorText } from '../../api/cri/runtime.ts';
import { findContainer } from '../../api/pod/find-container.ts';
import { podFullName } from '../../api/pod/pod-ref.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, isAbortOf, KubeletError } from '../../base/errors.ts';
import { jsonResponse, type RoutedRequest, type RouteHandler, restfulError } from '../http-message.ts';
import { findPod, runningContainer, type TargetPod, type TargetRuntime } from '../streams/find-target.ts';

export interface CheckpointDeps {
  readonly desired: { all(): readonly TargetPod[] };
  readonly cri: TargetRuntime & Pick<CriRuntime, 'checkpointContainer'>;
  /** The directory of the archives, readable by the kubelet only. */
  readonly directory: string;
  readonly clock: Pick<Clock, 'now'>;
}

export function checkpointHandler(deps: CheckpointDeps): RouteHandler {
  return async (request) => {
    const { containerName = '', podID = '', podNamespace = '' } = request.params;
    const target = findPod(deps.desired.all(), podNamespace, podID);
    if (target === undefined) return restfulError(404, 'pod does not exist');
    if (findContainer(target.pod, containerName) === undefined)
      return restfulError(404, `container ${containerName} does not exist`);
    const timeout = timeoutOf(request);
    if (timeout === undefined) return restfulError(404, 'cannot parse value of timeout parameter');
    try {
      const location = await checkpoint(deps, target, containerName, timeout, request.signal);
      return jsonResponse(JSON.stringify({ items: [location] }));
    } catch (err) {
      if (isAbortOf(err, request.signal)) throw err;
      const why = err instanceof KubeletError ? rpcErrorText(err) : describeError(err);
      return restfulError(500, `checkpointing of ${podNamespace}/${podID}/${containerName} failed (${why})`);
    }
  };
}

async function checkpoint(
  { clock, cri, directory }: CheckpointDeps,
  target: TargetPod,
  name: string,
  timeout: bigint,
  signal: AbortSignal,
): Promise<string> {
  const containerId = await runningContainer(cri, target, name, signal);
  if (containerId === undefined)
    throw new KubeletError('not-found', 'ContainerNotFound', `container ${name} not found`);
  const at = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`;
  const location = `${directory}/checkpoint-${podFullName(target.pod)}-${name}-${at}.tar`;
  await cri.checkpointContainer({ containerId, location, timeout }, { signal });
  return location;
}

/** In seconds; the last of several counts, and 0 means the runtime's default. */
function timeoutOf({ query }: RoutedRequest): bigint | undefined {
  const text = query.getAll('timeout').at(-1);
  if (text === undefined) return 0n;
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return value === BigInt.asIntN(64, value) ? value : undefined;
}
