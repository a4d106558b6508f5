// Validates probes and lifecycle hooks.
// Upstream: pkg/apis/core/validation (validateProbe, validateHandler, validateLifecycle).

import { isHttpHeaderName, isPortName, isPortNumber } from '../../../api/k8s/names.ts';
import type { HTTPGetAction, Lifecycle, LifecycleHandler, Probe } from '../../../api/k8s/types.ts';
import type { Violations } from '../violation.ts';
import { stopSignals } from './stop-signals.ts';

/** The fields of the pod that its containers' handlers depend on. */
export interface HandlerContext {
  readonly graceSeconds: number | undefined;
  readonly os: string | undefined;
}

interface ProbedContainer {
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly lifecycle?: Lifecycle;
}

type Handler = Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'> & Pick<LifecycleHandler, 'sleep'>;

export function checkHandlers(
  v: Violations,
  path: string,
  container: ProbedContainer,
  context: HandlerContext,
): void {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  checkLifecycle(v, `${path}.lifecycle`, lifecycle, context);
  checkProbe(v, `${path}.livenessProbe`, livenessProbe, context);
  checkProbe(v, `${path}.readinessProbe`, readinessProbe, context);
  checkProbe(v, `${path}.startupProbe`, startupProbe, context);
  for (const [name, probe] of Object.entries({ livenessProbe, startupProbe }))
    if (probe !== undefined && probe.successThreshold !== 1)
      v.invalid(`${path}.${name}.successThreshold`, probe.successThreshold, 'must be 1');
  if (readinessProbe?.terminationGracePeriodSeconds !== undefined)
    v.invalid(
      `${path}.readinessProbe.terminationGracePeriodSeconds`,
      readinessProbe.terminationGracePeriodSeconds,
      'has no meaning for a readiness probe',
    );
}

function checkProbe(v: Violations, path: string, probe: Probe | undefined, context: HandlerContext): void {
  if (probe === undefined) return;
  checkHandler(v, path, probe, context);
  v.notNegative(`${path}.initialDelaySeconds`, probe.initialDelaySeconds);
  v.notNegative(`${path}.timeoutSeconds`, probe.timeoutSeconds);
  v.notNegative(`${path}.periodSeconds`, probe.periodSeconds);
  v.notNegative(`${path}.successThreshold`, probe.successThreshold);
  v.notNegative(`${path}.failureThreshold`, probe.failureThreshold);
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0)
    v.invalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0');
}

function checkLifecycle(
  v: Violations,
  path: string,
  lifecycle: Lifecycle | undefined,
  context: HandlerContext,
): void {
  if (lifecycle?.postStart !== undefined) checkHandler(v, `${path}.postStart`, lifecycle.postStart, context);
  if (lifecycle?.preStop !== undefined) checkHandler(v, `${path}.preStop`, lifecycle.preStop, context);
  if (lifecycle?.stopSignal === undefined) return;
  if (context.os === undefined) v.forbidden(`${path}.stopSignal`, 'needs spec.os to be set');
  else v.word(`${path}.stopSignal`, lifecycle.stopSignal, stopSignals(context.os) ?? [lifecycle.stopSignal]);
}

/** Validates the first of several handlers and rejects the others. */
function checkHandler(v: Violations, path: string, handler: Handler, context: HandlerContext): void {
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  const given = Object.entries({ exec, httpGet, tcpSocket, grpc, sleep }).filter(
    ([, action]) => action !== undefined,
  );
  for (const [name] of given.slice(1)) v.forbidden(`${path}.${name}`, 'there can be only one handler');
  if (exec !== undefined) {
    if ((exec.command ?? []).length === 0) v.required(`${path}.exec.command`);
  } else if (httpGet !== undefined) checkHttpGet(v, `${path}.httpGet`, httpGet);
  else if (tcpSocket !== undefined) checkPort(v, `${path}.tcpSocket.port`, tcpSocket.port);
  else if (grpc !== undefined) checkPort(v, `${path}.grpc.port`, grpc.port);
  else if (sleep !== undefined) checkSleep(v, `${path}.sleep`, sleep.seconds ?? 0, context.graceSeconds);
  else v.required(path, 'needs a handler');
}

function checkHttpGet(v: Violations, path: string, action: HTTPGetAction): void {
  v.requiredText(`${path}.path`, action.path);
  checkPort(v, `${path}.port`, action.port);
  v.word(`${path}.scheme`, action.scheme ?? '', ['HTTP', 'HTTPS']);
  for (const { name } of action.httpHeaders ?? [])
    for (const detail of isHttpHeaderName(name ?? '')) v.invalid(`${path}.httpHeaders`, name, detail);
}

function checkPort(v: Violations, field: string, port: number | string | undefined): void {
  const details = typeof port === 'string' ? isPortName(port) : isPortNumber(port ?? 0);
  for (const detail of details) v.invalid(field, port ?? 0, detail);
}

function checkSleep(v: Violations, field: string, seconds: number, graceSeconds: number | undefined): void {
  if (graceSeconds !== undefined && (seconds < 0 || seconds > graceSeconds))
    v.invalid(field, seconds, `must be between 0 and the terminationGracePeriodSeconds of ${graceSeconds}`);
}
