// /exec, /attach, /portForward and /run: find the target, call the runtime, and proxy the client to the runtime's streaming
// server. A WebSocket of the newest protocols ends at the kubelet (gate ExtendWebSocketsToKubelet): runtimes do not speak them.
// Upstream: getExec, getAttach, getPortForward, getRun in pkg/kubelet/server/server.go, and what they call in
// pkg/kubelet/kubelet_pods.go. Status codes and texts are upstream's, in its order of checks.
import { type CriRuntime, rpcErrorText } from '../../api/cri/runtime.ts';
import { findContainer } from '../../api/pod/find-container.ts';
import { podFullName } from '../../api/pod/pod-ref.ts';
import type { HttpAnswer, RemoteCommandStreams } from '../../api/ports/http.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { errorResponse, type RoutedRequest, type RouteHandler, restfulError } from '../http-message.ts';
import {
  findPod,
  matchesUid,
  readySandbox,
  runningContainer,
  type TargetPod,
  type TargetRuntime,
} from './find-target.ts';
import type { StreamMetrics } from './stream-metrics.ts';
import { offersChannels, offersTunnel, parseExecStreams, parsePorts } from './stream-options.ts';

export interface StreamDeps {
  readonly desired: { all(): readonly TargetPod[] };
  readonly cri: TargetRuntime & Pick<CriRuntime, 'exec' | 'attach' | 'portForward' | 'execSync'>;
  /** The gate ExtendWebSocketsToKubelet: WebSockets of the newest protocols end at the kubelet. */
  readonly webSockets: boolean;
  readonly metrics: Pick<StreamMetrics, 'webSocket'>;
}

export interface StreamHandlers {
  readonly exec: RouteHandler;
  readonly attach: RouteHandler;
  readonly portForward: RouteHandler;
  readonly run: RouteHandler;
}

/** How the proxy between clients and the runtime's streaming server behaves. */
export function streamProxyOptions(
  config: { readonly streamingConnectionIdleTimeout: { readonly ms: number } },
  log: Logger,
): { readonly idleMs: number; readonly onError: (err: unknown) => void } {
  return {
    // differs from upstream: there the setting is read and has no effect; only the runtime's own limit applies.
    get idleMs() {
      return config.streamingConnectionIdleTimeout.ms;
    },
    onError: (err) => log.error('Failed to proxy streaming request', { err: describeError(err) }),
  };
}

export function streamHandlers(deps: StreamDeps): StreamHandlers {
  return {
    exec: (request) => exec(deps, request),
    attach: (request) => attach(deps, request),
    portForward: (request) => portForward(deps, request),
    run: (request) => run(deps, request),
  };
}

async function exec(deps: StreamDeps, request: RoutedRequest): Promise<HttpAnswer> {
  const streams = parseExecStreams(request.query);
  if ('error' in streams) return restfulError(400, streams.error);
  const target = targetOf(deps, request);
  if (target === undefined) return noPod;
  return streamed(request, async (signal) => {
    const containerId = await targetContainer(deps, request, target, signal);
    if (containerId === undefined) return failed(noContainer(request));
    if (!request.upgrade) return upgradeRequired;
    const cmd = request.query.getAll('command');
    const { url } = await deps.cri.exec({ containerId, cmd, ...streams.value }, { signal });
    return remoteCommand(deps, request, 'exec', url, streams.value);
  });
}

async function attach(deps: StreamDeps, request: RoutedRequest): Promise<HttpAnswer> {
  const streams = parseExecStreams(request.query);
  if ('error' in streams) return restfulError(400, streams.error);
  const target = targetOf(deps, request);
  if (target === undefined) return noPod;
  return streamed(request, async (signal) => {
    const name = request.params['containerName'] ?? '';
    const fullName = podFullName(target.pod);
    const containerId = await runningContainer(deps.cri, target, name, signal);
    const notFound = failed(`container ${name} not found in pod ${fullName}`);
    if (containerId === undefined) return notFound;
    if (!matchesUid(target, request.params['uid'])) return failed(`pod ${fullName} not found`);
    const spec = findContainer(target.pod, name);
    if (spec === undefined) return notFound;
    if (!request.upgrade) return upgradeRequired;
    // The terminal was decided when the container was created.
    const tty = spec.tty === true;
    // differs from upstream: there a client that requests both outputs of a container with a terminal is rejected.
    const stderr = streams.value.stderr && !tty;
    const attached = { ...streams.value, stderr, tty };
    const { url } = await deps.cri.attach({ containerId, ...attached }, { signal });
    return remoteCommand(deps, request, 'attach', url, attached);
  });
}

async function portForward(deps: StreamDeps, request: RoutedRequest): Promise<HttpAnswer> {
  const tunnelled = deps.webSockets && offersTunnel(request);
  const ports = tunnelled ? { value: [] } : parsePorts(request);
  if ('error' in ports) return restfulError(400, ports.error);
  const target = targetOf(deps, request);
  if (target === undefined) return noPod;
  if (!matchesUid(target, request.params['uid'])) return restfulError(404, 'pod not found');
  return streamed(request, async (signal) => {
    const podSandboxId = await readySandbox(deps.cri, target, signal);
    if (podSandboxId === undefined) return failed(`pod not found ("${podFullName(target.pod)}")`);
    if (!request.upgrade) return upgradeRequired;
    const { url } = await deps.cri.portForward({ podSandboxId, port: ports.value }, { signal });
    if (!tunnelled) return { proxyTo: url };
    deps.metrics.webSocket('portforward');
    return { proxyTo: url, webSocket: 'tunnel' };
  });
}

function remoteCommand(
  { metrics, webSockets }: StreamDeps,
  request: RoutedRequest,
  subresource: 'exec' | 'attach',
  url: string,
  streams: RemoteCommandStreams,
): HttpAnswer {
  if (!webSockets || !offersChannels(request)) return { proxyTo: url };
  metrics.webSocket(subresource);
  return { proxyTo: url, webSocket: streams };
}

/** Runs a command to its end and responds with stdout followed by stderr. */
async function run(deps: StreamDeps, request: RoutedRequest): Promise<HttpAnswer> {
  const target = targetOf(deps, request);
  if (target === undefined) return noPod;
  try {
    const { signal } = request;
    const containerId = await targetContainer(deps, request, target, signal);
    if (containerId === undefined) return failed(noContainer(request));
    // As upstream: another parameter than exec's, and no quoting.
    const command = request.query.get('cmd') ?? '';
    const cmd = command.split(' ');
    const { exitCode, stderr, stdout } = await deps.cri.execSync(
      { containerId, cmd, timeout: 0n },
      { signal },
    );
    if (exitCode !== 0) {
      // As bytes: up to 16 MiB, not necessarily text.
      const message = Buffer.from(`command '${command}' exited with ${exitCode}: `);
      return restfulError(500, Buffer.concat([message, stderr]));
    }
    const body = Buffer.concat([stdout, stderr]);
    const headers: Record<string, string> = body.length === 0 ? {} : { 'content-type': 'application/json' };
    return { status: 200, headers, body };
  } catch (err) {
    if (!(err instanceof KubeletError)) throw err;
    return failed(rpcErrorText(err));
  }
}

const noPod = restfulError(404, 'pod does not exist');
/** Upstream's status, although it is a client error. */
const upgradeRequired = errorResponse(500, 'Upgrade request required');
/** How long the runtime keeps the URL of an unused stream. */
const urlLifetimeSeconds = 60;

function failed(message: string): HttpAnswer {
  return restfulError(500, message);
}

function noContainer({ params }: RoutedRequest): string {
  return `container not found ("${params['containerName']}")`;
}

function targetOf({ desired }: StreamDeps, { params }: RoutedRequest): TargetPod | undefined {
  return findPod(desired.all(), params['podNamespace'], params['podID']);
}

async function targetContainer(
  { cri }: StreamDeps,
  { params }: RoutedRequest,
  target: TargetPod,
  signal: AbortSignal,
): Promise<string | undefined> {
  // differs from upstream: there exec and run ignore the UID and run in another pod of that name.
  if (!matchesUid(target, params['uid'])) return undefined;
  return await runningContainer(cri, target, params['containerName'] ?? '', signal);
}

/** Maps errors of the runtime to responses. Upstream: streaming.WriteError. */
async function streamed(
  request: RoutedRequest,
  call: (signal: AbortSignal) => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  try {
    return await call(request.signal);
  } catch (err) {
    if (!(err instanceof KubeletError)) throw err;
    const text = rpcErrorText(err);
    if (err.reason === 'NOT_FOUND') return restfulError(404, text);
    if (err.reason === 'RESOURCE_EXHAUSTED') {
      return restfulError(429, text, { 'retry-after': String(urlLifetimeSeconds) });
    }
    return failed(text);
  }
}
