// Runs postStart and preStop hooks: a command, an HTTP request or a sleep. Upstream: pkg/kubelet/lifecycle/handlers.go.
// Invariant: the message of a failure may contain the command's output, so it goes to the container's status and the log, never
// into an event.

import type { CriRuntime } from '../../api/cri/runtime.ts';
import { rpcErrorText } from '../../api/cri/runtime.ts';
import { kubernetesMinor } from '../../api/k8s/release.ts';
import type { Container, HTTPGetAction, LifecycleHandler, Pod } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import type { EventSink } from '../../api/ports/events.ts';
import type { PodActivity } from '../../api/ports/pod-activity.ts';
import type { PodHttpRequest } from '../../api/ports/probe-requests.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, isAbort, KubeletError } from '../../base/errors.ts';
import type { InFlight } from '../../base/in-flight.ts';
import { podFormat } from './security-context.ts';

/** Any response counts as success. Rejects with reason `HttpInsteadOfTls` when the server speaks plain HTTP where TLS was requested. */
type HookHttp = (request: PodHttpRequest, signal: AbortSignal) => Promise<void>;

/** How postStart and preStop hooks are run. */
export interface HookRunner {
  readonly http: HookHttp;
  /** Hooks in flight per pod, for /explain. */
  readonly running: InFlight<PodActivity>;
  readonly metrics: { fellBackToHttp(): void; sleepCutShort(): void };
}

export interface HookDeps {
  readonly cri: Pick<CriRuntime, 'execSync'>;
  readonly hooks: HookRunner;
  readonly report: { readonly events: EventSink };
  readonly clock: Clock;
}

interface HookRun {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  readonly handler: LifecycleHandler;
  readonly when: 'postStart' | 'preStop';
  /** Where a request without a host goes; undefined while the pod has no address. */
  readonly podIp: string | undefined;
}

const userAgent = `kube-lifecycle/${kubernetesMinor}`;
/**
 * Limit on each output stream of a failed command.
 * differs from upstream: its message has the whole output, up to 16 MiB. The status shows 4,096 characters of up to four bytes.
 */
const outputLimitBytes = 16 * 1024;

/** Resolves when the hook has succeeded; rejects with the message that upstream's status has for a failed hook. */
export async function runHook(deps: HookDeps, run: HookRun, signal: AbortSignal): Promise<void> {
  const what = `the ${run.when} hook of container ${run.container.name} runs`;
  const activity = { what, sinceMs: deps.clock.now() };
  await deps.hooks.running.during(podUid(run.pod), activity, () => runHandler(deps, run, signal));
}

async function runHandler(deps: HookDeps, run: HookRun, signal: AbortSignal): Promise<void> {
  const { container, handler, pod } = run;
  const { exec, httpGet, sleep } = handler;
  const where = `for Container "${container.name}" in Pod "${podFormat(pod)}" failed - error: `;
  if (exec !== undefined) {
    await runCommand(deps, run, exec.command ?? [], where, signal);
  } else if (httpGet !== undefined) {
    const failed = `HTTP lifecycle hook (${httpGet.path ?? ''}) ${where}`;
    await withFailurePrefix(failed, signal, () => sendRequest(deps, run, httpGet, signal));
  } else if (sleep === undefined) {
    // tcpSocket is kept in the API for old manifests only and is never run.
    throw hookError('Cannot run handler: invalid handler');
  } else {
    const failed = `Sleep lifecycle hook (${sleep.seconds}) ${where}`;
    await withFailurePrefix(failed, signal, () => deps.clock.sleep(sleep.seconds * 1_000, signal)).catch(
      (err: unknown) => {
        deps.hooks.metrics.sleepCutShort();
        throw err;
      },
    );
  }
}

function hookError(message: string, cause?: unknown): KubeletError {
  return new KubeletError('internal', 'HookFailed', message, cause === undefined ? {} : { cause });
}

async function withFailurePrefix(
  failed: string,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (err) {
    if (isAbort(err) || signal.aborted) throw err;
    throw hookError(`${failed}${describeError(err)}`, err);
  }
}

async function runCommand(
  { cri }: HookDeps,
  { containerId }: HookRun,
  cmd: readonly string[],
  where: string,
  signal: AbortSignal,
): Promise<void> {
  const failed = `Exec lifecycle hook ([${cmd.join(' ')}]) ${where}`;
  const options = { signal, keepBytes: outputLimitBytes };
  const result = await cri.execSync({ containerId, cmd }, options).catch((err: unknown) => {
    if (isAbort(err) || signal.aborted) throw err;
    const text = err instanceof KubeletError ? rpcErrorText(err) : describeError(err);
    throw hookError(`${failed}${text}, message: ""`, err);
  });
  if (result.exitCode === 0) return;
  const [stdout, stderr] = [result.stdout, result.stderr].map((bytes) =>
    new TextDecoder().decode(bytes.subarray(0, outputLimitBytes)),
  );
  const error = `command '${cmd.join(' ')}' exited with ${result.exitCode}: ${stderr}`;
  throw hookError(`${failed}${error}, message: ${JSON.stringify(`${stdout}${stderr}`)}`);
}

async function sendRequest(
  deps: HookDeps,
  run: HookRun,
  action: HTTPGetAction,
  signal: AbortSignal,
): Promise<void> {
  const host = action.host === undefined || action.host === '' ? run.podIp : action.host;
  if (host === undefined) throw hookError('failed to find networking container: the pod has no address');
  const port = hookPort(action.port, run.container);
  const scheme = (action.scheme ?? 'HTTP').toLowerCase() === 'https' ? 'https' : 'http';
  const headers = hookHeaders(action);
  const get = { scheme, host, port, path: action.path ?? '', headers } as const;
  try {
    await deps.hooks.http(get, signal);
  } catch (err) {
    if (!(err instanceof KubeletError) || err.reason !== 'HttpInsteadOfTls') throw err;
    // Credentials for a TLS server are not sent in plain text.
    const plain = headers.filter(([name]) => name.toLowerCase() !== 'authorization');
    await deps.hooks.http({ ...get, scheme: 'http', headers: plain }, signal);
    deps.hooks.metrics.fellBackToHttp();
    const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    deps.report.events.pod(run.pod, {
      type: 'Warning',
      reason: 'LifecycleHTTPFallback',
      message: `request to HTTPS lifecycle hook ${authority} got HTTP response, retry with HTTP succeeded`,
    });
  }
}

/** The configured headers, with defaults for User-Agent and Accept; an empty Accept is omitted. */
function hookHeaders(action: HTTPGetAction): readonly (readonly [string, string])[] {
  const given = (action.httpHeaders ?? []).map(({ name, value }) => [name, value] as const);
  const values = (name: string): readonly (readonly [string, string])[] =>
    given.filter(([each]) => each.toLowerCase() === name);
  const dropsAccept = values('accept')[0]?.[1] === '';
  return [
    ...given.filter(([name]) => !(dropsAccept && name.toLowerCase() === 'accept')),
    ...(values('user-agent').length === 0 ? [['User-Agent', userAgent] as const] : []),
    ...(values('accept').length === 0 ? [['Accept', '*/*'] as const] : []),
  ];
}

/** A number, the name of one of the container's ports, or a number as text. */
export function hookPort(port: number | string, container: Container): number {
  const named =
    typeof port === 'string' ? container.ports?.find((each) => each.name === port)?.containerPort : port;
  const number = named ?? (/^\d+$/.test(String(port)) ? Number(port) : undefined);
  if (number === undefined) throw hookError(`strconv.Atoi: parsing "${port}": invalid syntax`);
  if (number <= 0 || number >= 65_536) throw hookError(`invalid port number: ${number}`);
  return number;
}
