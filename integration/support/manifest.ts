// Builders of manifests: by default small pods with a short grace period, whose containers exit on SIGTERM.
import type { Container, ObjectMeta, Pod, PodSpec } from '../../src/api/k8s/types.ts';
import { busyboxImage } from '../rig/images.ts';

const forever = 'while :; do sleep 2147483647 & wait $!; done';

/** Runs until SIGTERM, and exits at once. */
export const exitsOnTerm = `trap 'exit 0' TERM; ${forever}`;

/** Ignores SIGTERM; only SIGKILL ends it. */
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
