// Manifests for tests of the whole kubelet: small pods with a short grace period whose containers end at once when
// they are asked to, unless a test says otherwise.
import type { Container, ObjectMeta, Pod, PodSpec } from '../../src/api/k8s/types.ts';
import { busyboxImage } from '../rig/images.ts';

const forever = 'while :; do sleep 2147483647 & wait $!; done';

/** Runs until it is asked to end, and then ends at once. */
export const exitsOnTerm = `trap 'exit 0' TERM; ${forever}`;

/** Does not end when it is asked to: only a kill ends it. */
export const ignoresTerm = `trap '' TERM; ${forever}`;

export function container(
  name: string,
  script: string = exitsOnTerm,
  over: Partial<Container> = {},
): Container {
  return {
    name,
    image: busyboxImage,
    imagePullPolicy: 'IfNotPresent',
    command: ['sh', '-c', script],
    ...over,
  };
}

export interface ManifestOver extends Partial<PodSpec> {
  readonly metadata?: ObjectMeta;
}

export function manifest(name: string, over: ManifestOver = {}): Pod {
  const { metadata, ...spec } = over;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { terminationGracePeriodSeconds: 1, containers: [container('main')], ...spec },
  };
}
