// GET /containerLogs/{namespace}/{pod}/{container}, for `kubectl logs`.
// Upstream: getContainerLogs in pkg/kubelet/server/server.go and GetKubeletContainerLogs in pkg/kubelet/kubelet_pods.go.
// Invariant: errors are detected before the first byte of the response, so that they are an error status and not a log.
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import { findContainer } from '../../api/pod/find-container.ts';
import type { ObservedContainer, ObservedPod } from '../../api/pod/observed.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { Subscribable } from '../../base/channel.ts';
import { KubeletError } from '../../base/errors.ts';
import { type HttpResponse, restfulError } from '../http-message.ts';
import { chooseContainer } from './choose-container.ts';
import { parseLogOptions } from './log-options.ts';
import { type ReadLogDeps, readLog } from './read-log.ts';

export interface ContainerLogsDeps extends ReadLogDeps {
  readonly desired: { all(): readonly { readonly uid: PodUid; readonly pod: Pod }[] };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  readonly observed: {
    get(uid: PodUid): ObservedPod | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  /** The gate PodLogsQuerySplitStreams. */
  readonly splitStreams: boolean;
}

interface ContainerLogsRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly query: URLSearchParams;
  readonly signal: AbortSignal;
}

const logHeaders = { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff' };

export async function containerLogs(
  deps: ContainerLogsDeps,
  request: ContainerLogsRequest,
): Promise<HttpResponse> {
  const { container, namespace, pod, query, signal } = request;
  if (pod === '') return restfulError(400, '{"message": "Missing podID."}');
  if (container === '') return restfulError(400, '{"message": "Missing container name."}');
  if (namespace === '') return restfulError(400, '{"message": "Missing podNamespace."}');
  const parsed = parseLogOptions(query, { nowMs: deps.clock.now(), splitStreams: deps.splitStreams });
  if ('rejection' in parsed) return restfulError(parsed.rejection.status, parsed.rejection.message);
  // The newest pod of that name: an older one may still be terminating.
  const found = deps.desired
    .all()
    .findLast(({ pod: { metadata } }) => metadata?.name === pod && metadata.namespace === namespace);
  if (found === undefined) return restfulError(404, `pod ${JSON.stringify(pod)} does not exist`);
  if (findContainer(found.pod, container) === undefined) {
    return restfulError(
      404,
      `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(pod)}`,
    );
  }
  if (parsed.rejectedStream !== undefined) {
    return restfulError(parsed.rejectedStream.status, parsed.rejectedStream.message);
  }
  const status = deps.statuses.get(found.uid) ?? found.pod.status ?? {};
  const chosen = chooseContainer(pod, status, container, parsed.options.previous);
  if ('error' in chosen) return restfulError(400, chosen.error);
  const id = chosen.id.slice(chosen.id.indexOf('://') + 3);
  const observe = (): ObservedContainer | undefined =>
    deps.observed.get(found.uid)?.containers.find((each) => each.id === id);
  const path = observe()?.logPath ?? '';
  if (path === '') return restfulError(400, `unable to retrieve container logs for ${chosen.id}`);
  const chunks = readLog(
    deps,
    {
      path,
      containerId: id,
      options: parsed.options,
      isRunning: () => observe()?.state === 'running',
      onChange: (listener) =>
        deps.observed.changed.subscribe((uid) => {
          if (uid === found.uid && observe()?.state !== 'running') listener();
        }),
    },
    signal,
  );
  try {
    // differs from upstream: there a log that cannot be read is a 200 with the error as its text.
    await chunks.next();
  } catch (err) {
    if (!(err instanceof KubeletError)) throw err;
    return restfulError(400, err.message);
  }
  // differs from upstream: there it has no content type, and browsers guess one from the container's output.
  return { status: 200, headers: logHeaders, body: chunks };
}
