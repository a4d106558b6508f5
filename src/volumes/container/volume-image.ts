// Makes the image of an image volume present on the node. Upstream: getImageVolumes in pkg/kubelet/kuberuntime.
import type { Container, Pod } from '../../api/k8s/types.ts';

interface PresentImage {
  readonly ref: string;
  readonly uid: bigint | undefined;
  readonly username: string;
}

/** The part of the image manager that image volumes need. */
export interface VolumeImages {
  find(reference: string, signal: AbortSignal): Promise<PresentImage | undefined>;
  ensure(
    request: { readonly pod: Pod; readonly container: Container; readonly sandboxConfig: object },
    found: PresentImage | undefined,
    signal: AbortSignal,
  ): Promise<PresentImage>;
}

/** Pulls the image if its policy demands it. Resolves to the reference by which the runtime knows the image. */
export async function ensureVolumeImage(
  images: VolumeImages,
  pod: Pod,
  { reference, pullPolicy }: { readonly reference: string; readonly pullPolicy: string },
  signal: AbortSignal,
): Promise<string> {
  const container = { name: reference, image: reference, imagePullPolicy: pullPolicy };
  const found = await images.find(reference, signal);
  return (await images.ensure({ pod, container, sandboxConfig: {} }, found, signal)).ref;
}
