// Answers GET /containerLogs/{namespace}/{pod}/{container}: what `kubectl logs` shows.
// Upstream: getContainerLogs in pkg/kubelet/server/server.go and GetKubeletContainerLogs in pkg/kubelet/kubelet_pods.go.
// Invariant: what can be known to be wrong is known before the first byte is answered, so that it is an error and not a log.
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import { findContainer } from '../../api/pod/find-container.ts';
import type { ObservedContainer, ObservedPod } from '../../api/pod/observed.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { Subscribable } from '../../base/channel.ts';
import { KubeletError } from '../../base/errors.ts';
import { type HttpResponse, refusal } from '../http-message.ts';
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
  if (pod === '') return refusal(400, '{"message": "Missing podID."}');
  if (container === '') return refusal(400, '{"message": "Missing container name."}');
  if (namespace === '') return refusal(400, '{"message": "Missing podNamespace."}');
  const parsed = parseLogOptions(query, { nowMs: deps.clock.now(), splitStreams: deps.splitStreams });
  if ('refusal' in parsed) return refusal(parsed.refusal.status, parsed.refusal.message);
  // The newest of that name: an older one of the same name may still be ending.
  const found = deps.desired
    .all()
    .findLast(({ pod: { metadata } }) => metadata?.name === pod && metadata.namespace === namespace);
  if (found === undefined) return refusal(404, `pod ${JSON.stringify(pod)} does not exist`);
  if (findContainer(found.pod, container) === undefined) {
    return refusal(404, `container ${JSON.stringify(container)} not found in pod ${JSON.stringify(pod)}`);
  }
  if (parsed.refusedStream !== undefined) {
    return refusal(parsed.refusedStream.status, parsed.refusedStream.message);
  }
  const status = deps.statuses.get(found.uid) ?? found.pod.status ?? {};
  const chosen = chooseContainer(pod, status, container, parsed.options.previous);
  if ('why' in chosen) return refusal(400, chosen.why);
  const id = chosen.id.slice(chosen.id.indexOf('://') + 3);
  const seen = (): ObservedContainer | undefined =>
    deps.observed.get(found.uid)?.containers.find((each) => each.id === id);
  const path = seen()?.logPath ?? '';
  if (path === '') return refusal(400, `unable to retrieve container logs for ${chosen.id}`);
  const chunks = readLog(
    deps,
    {
      path,
      containerId: id,
      options: parsed.options,
      isRunning: () => seen()?.state === 'running',
      onChange: (listener) =>
        deps.observed.changed.subscribe((uid) => {
          if (uid === found.uid && seen()?.state !== 'running') listener();
        }),
    },
    signal,
  );
  try {
    // differs from upstream: there a log that cannot be read is a 200 whose text is the error.
    await chunks.next();
  } catch (err) {
    if (!(err instanceof KubeletError)) throw err;
    return refusal(400, err.message);
  }
  // differs from upstream: there it has no type, and a browser guesses one from what the container wrote.
  return { status: 200, headers: logHeaders, body: chunks };
}
