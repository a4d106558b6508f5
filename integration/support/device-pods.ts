// Pods that request devices of the sample device plugin, and what a test reads of them.
import type { Container, Pod } from '../../src/api/k8s/types.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { waitFor } from '../rig/wait.ts';
import type { Cluster } from './cluster.ts';
import { logLines } from './container-log.ts';
import { sampleResource } from './device-plugin.ts';
import { container, exitsOnTerm, type ManifestOver, manifest } from './manifest.ts';

/** Prints the devices, the environment and the mount of the sample, one line each. */
export const showDevices = `for node in /dev/sample-*; do [ -c "$node" ] && ( : < "$node" ) && echo "opened $node"; done
echo "SAMPLE_DEVICES=$SAMPLE_DEVICES"
[ -d /var/lib/sample ] && cat /var/lib/sample/hello
[ -d /var/lib/sample ] && ! touch /var/lib/sample/new 2> /dev/null && echo "mounted read-only"
echo end`;

/** A container that prints what it was granted. */
export function deviceContainer(
  name: string,
  count: number,
  { resource = sampleResource, script = `${showDevices}; ${exitsOnTerm}`, ...over }: DeviceOver = {},
): Container {
  const amounts = { [resource]: String(count) };
  return container(name, script, { resources: { limits: amounts, requests: amounts }, ...over });
}

interface DeviceOver extends Partial<Container> {
  readonly resource?: string;
  readonly script?: string;
}

/** A pod with one container that has so many devices. */
export function devicePod(name: string, count: number, over: ManifestOver = {}): Pod {
  return manifest(name, { containers: [deviceContainer('main', count)], ...over });
}

/** The lines of `showDevices`. */
export async function untilShown(
  kubelet: Kubelet,
  pod: Pod,
  name = 'main',
  restart = 0,
): Promise<readonly string[]> {
  return waitFor(() => {
    const lines = logLines(kubelet, pod, name, restart);
    const end = lines.indexOf('end');
    return end >= 0 && lines.slice(0, end);
  }, `the devices of container ${name} of pod ${pod.metadata?.name}`);
}

/** The IDs in the environment of a container. */
export async function devicesOf(
  kubelet: Kubelet,
  pod: Pod,
  name = 'main',
  restart = 0,
): Promise<readonly string[]> {
  const lines = await untilShown(kubelet, pod, name, restart);
  const text = lines.find((line) => line.startsWith('SAMPLE_DEVICES='))?.slice('SAMPLE_DEVICES='.length);
  return (text ?? '').split(',').filter((id) => id !== '');
}

/** Waits until the Node reports these numbers of the resource. */
export async function untilNodeDevices(
  cluster: Cluster,
  capacity: string,
  allocatable: string,
  resource = sampleResource,
): Promise<void> {
  await waitFor(
    () => {
      const { status } = cluster.node() ?? {};
      const found = [status?.capacity?.[resource], status?.allocatable?.[resource]];
      if (found[0] === capacity && found[1] === allocatable) return true;
      throw new Error(`the node has ${found.join(' and ')}`);
    },
    `capacity ${capacity} and allocatable ${allocatable} of ${resource}`,
    30_000,
  );
}

/** Deletes the pods, and waits until they are gone. */
export async function deletePods(cluster: Cluster, ...names: readonly string[]): Promise<void> {
  for (const name of names.filter((each) => cluster.pod(each) !== undefined))
    cluster.double.objects.delete('pods', 'default', name);
  for (const name of names) await cluster.untilGone(name);
}

/** How often an event with this reason was emitted for an object. */
export function eventCount(cluster: Cluster, name: string, reason: string): number {
  return cluster.double.objects
    .list('events')
    .filter((event) => event.involvedObject.name === name && event.reason === reason)
    .reduce((sum, { count = 1 }) => sum + count, 0);
}
