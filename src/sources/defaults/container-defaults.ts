// Defaults of one container of any type. Mutates its argument, which is a copy of the caller's.
// Upstream: pkg/apis/core/v1 (SetDefaults_Container and the parts of a container).
import type { Container, HTTPGetAction, Probe } from '../../api/k8s/types.ts';
import { hasLatestTag } from './image-tag.ts';

/** The common part of ephemeral and other containers. */
type AnyContainer = Omit<Container, 'name'>;

export function defaultContainer(container: AnyContainer): void {
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? '');
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef !== undefined) valueFrom.fieldRef.apiVersion ||= 'v1';
    if (valueFrom?.fileKeyRef !== undefined) valueFrom.fileKeyRef.optional ??= false;
  }
  defaultProbe(container.livenessProbe);
  defaultProbe(container.readinessProbe);
  defaultProbe(container.startupProbe);
  defaultHttpGet(container.lifecycle?.postStart?.httpGet);
  defaultHttpGet(container.lifecycle?.preStop?.httpGet);
}

/** Always for the tag latest; otherwise, even for an invalid reference, IfNotPresent. */
function defaultPullPolicy(image: string): string {
  return hasLatestTag(image) ? 'Always' : 'IfNotPresent';
}

function defaultProbe(probe: Probe | undefined): void {
  if (probe === undefined) return;
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHttpGet(probe.httpGet);
  if (probe.grpc !== undefined) probe.grpc.service ??= '';
}

function defaultHttpGet(action: HTTPGetAction | undefined): void {
  if (action === undefined) return;
  action.path ||= '/';
  action.scheme ||= 'HTTP';
}
