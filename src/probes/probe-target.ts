// Resolves what a probe runs and where: named ports, the pod's address, variables in commands. Pure.
// Upstream: runProbe in pkg/kubelet/prober/prober.go, pkg/probe/util.go and http/request.go.

import { kubernetesMinor } from '../api/k8s/release.ts';
import type { Container, HTTPGetAction, Probe } from '../api/k8s/types.ts';
import { expandVariables } from '../api/pod/expand.ts';
import type { GrpcProbeRequest, HttpProbeRequest, TcpProbeRequest } from '../api/ports/probe-requests.ts';
import { KubeletError } from '../base/errors.ts';
import { timingOf } from './probe-spec.ts';

export type ProbeTarget =
  | { readonly by: 'exec'; readonly command: readonly string[]; readonly timeoutSeconds: number }
  | { readonly by: 'http'; readonly request: HttpProbeRequest }
  | { readonly by: 'tcp'; readonly request: TcpProbeRequest }
  | { readonly by: 'grpc'; readonly request: GrpcProbeRequest };

const userAgent = `kube-probe/${kubernetesMinor}`;
/** differs from upstream: a command that expands to more is not sent to the runtime. Linux executes none above it. */
const maxCommandBytes = 6 * 1024 * 1024;

/** Throws if the probe is incomplete or invalid; as upstream, this is detected only when the probe runs. */
export function probeTarget(
  probe: Probe,
  container: Container,
  podIp: string | undefined,
  podName: string,
): ProbeTarget {
  const { timeoutSeconds } = timingOf(probe);
  const timeoutMs = timeoutSeconds * 1_000;
  const { exec, grpc, httpGet, tcpSocket } = probe;
  if (exec !== undefined)
    return { by: 'exec', command: expandCommand(exec.command ?? [], container), timeoutSeconds };
  if (httpGet !== undefined)
    return { by: 'http', request: httpRequest(httpGet, container, podIp, timeoutMs) };
  if (tcpSocket !== undefined) {
    const port = containerPort(tcpSocket.port, container);
    return { by: 'tcp', request: { host: hostOf(tcpSocket.host, podIp), port, timeoutMs } };
  }
  if (grpc !== undefined) {
    return {
      by: 'grpc',
      request: { host: hostOf('', podIp), port: grpc.port, service: grpc.service ?? '', timeoutMs },
    };
  }
  throw invalid(`missing probe handler for ${podName}:${container.name}`);
}

function httpRequest(
  action: HTTPGetAction,
  container: Container,
  podIp: string | undefined,
  timeoutMs: number,
): HttpProbeRequest {
  return {
    scheme: (action.scheme ?? '').toLowerCase() === 'https' ? 'https' : 'http',
    host: hostOf(action.host, podIp),
    port: containerPort(action.port, container),
    path: action.path ?? '',
    headers: probeHeaders(action),
    timeoutMs,
  };
}

/** Throws without an address: an empty host would connect to the node itself. */
function hostOf(given: string | undefined, podIp: string | undefined): string {
  const host = given || podIp;
  if (host === undefined || host === '') throw invalid('the pod has no address');
  return host;
}

/** The headers as given, with defaults for User-Agent and Accept. An empty Accept is omitted. */
export function probeHeaders(action: HTTPGetAction): readonly (readonly [string, string])[] {
  const given = (action.httpHeaders ?? []).map(({ name, value }) => [name, value] as const);
  const first = (wanted: string): string | undefined =>
    given.find(([name]) => name.toLowerCase() === wanted)?.[1];
  return [
    ...given.filter(([name]) => !(name.toLowerCase() === 'accept' && first('accept') === '')),
    ...(first('user-agent') === undefined ? [['User-Agent', userAgent] as const] : []),
    ...(first('accept') === undefined ? [['Accept', '*/*'] as const] : []),
  ];
}

/** A number, the name of one of the container's ports, or a number written as text. */
function containerPort(port: number | string, container: Container): number {
  const named = container.ports?.find(({ name }) => name === port)?.containerPort;
  const number = typeof port === 'number' ? port : (named ?? textAsPort(port));
  if (number > 0 && number < 65_536) return number;
  throw invalid(`invalid port number: ${number}`);
}

function textAsPort(text: string): number {
  if (!/^[+-]?\d+$/.test(text))
    throw invalid(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

/** Uses literal values of the container's `env` only: values from other sources (`valueFrom`) count as empty. */
function expandCommand(command: readonly string[], { env = [] }: Container): readonly string[] {
  const values = new Map(env.map(({ name, value }) => [name, value ?? '']));
  const tooLarge = (): KubeletError =>
    invalid(`the command takes more than ${maxCommandBytes} bytes after expanding $(VAR) references`);
  let leftBytes = maxCommandBytes;
  return command.map((word) => {
    const expanded = expandVariables(word, values, leftBytes, tooLarge);
    leftBytes -= Buffer.byteLength(expanded);
    if (leftBytes < 0) throw tooLarge();
    return expanded;
  });
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'InvalidProbe', message);
}
