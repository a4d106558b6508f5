// What one sync pass created for a new pod, so that its inspection needs no list call. Types only.
import type { PodSandboxStatus } from '../cri/generated/runtime/v1/api.ts';

export interface StartedPod {
  readonly sandboxId: string;
  /** the runtime's response after creation; undefined if the pass did not need it. */
  readonly sandbox: PodSandboxStatus | undefined;
  readonly containerIds: readonly string[];
}
