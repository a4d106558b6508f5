// ContainerStatus and ListContainers of the fake runtime.
// Invariant: as in containerd, the list has the image reference of the create request, the status has its tag and
// digest.
import type {
  Container,
  ContainerStatus,
  ImageSpec,
  ListContainersRequest,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { FakeImages } from './images.ts';
import { type FakeContainer, type FakeState, selects } from './state.ts';

function imageSpec(image: string): ImageSpec {
  return { image, annotations: {}, userSpecifiedImage: '', runtimeHandler: '', imageRef: '' };
}

export function toContainerStatus(container: FakeContainer, images: FakeImages): ContainerStatus {
  const { config, image } = container;
  const now = images.current(image);
  const name = now?.tags[0] ?? now?.digests[0] ?? config.image?.image ?? '';
  return {
    id: container.id,
    metadata: config.metadata,
    state: container.state,
    createdAt: container.createdAtNs,
    startedAt: container.startedAtNs,
    finishedAt: container.finishedAtNs,
    exitCode: container.exitCode,
    image: imageSpec(name),
    imageRef: now?.digests[0] ?? image.id,
    reason: container.reason,
    message: container.message,
    labels: config.labels,
    annotations: config.annotations,
    mounts: config.mounts,
    logPath: container.logPath,
    resources: { linux: container.resources, windows: undefined },
    imageId: '',
    user: undefined,
    stopSignal: 0,
  };
}

export function listContainers(state: FakeState, { filter }: ListContainersRequest): Container[] {
  const id = state.fullId(state.containers, filter?.id ?? '');
  const sandboxId = state.fullId(state.sandboxes, filter?.podSandboxId ?? '');
  return [...state.containers.values()]
    .filter((container) => id === '' || container.id === id)
    .filter((container) => sandboxId === '' || container.sandbox.id === sandboxId)
    .filter((container) => filter?.state === undefined || filter.state.state === container.state)
    .filter((container) => selects(filter?.labelSelector ?? {}, container.config.labels))
    .map(toContainer);
}

function toContainer(container: FakeContainer): Container {
  const { config } = container;
  return {
    id: container.id,
    podSandboxId: container.sandbox.id,
    metadata: config.metadata,
    image: imageSpec(config.image?.image ?? ''),
    imageRef: container.image.id,
    state: container.state,
    createdAt: container.createdAtNs,
    labels: config.labels,
    annotations: config.annotations,
    imageId: '',
  };
}
