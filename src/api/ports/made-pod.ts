// What a pass that started a new pod has made of it on the runtime, for who looks at the outcome. Types only.
import type { PodSandboxStatus } from '../cri/generated/runtime/v1/api.ts';

export interface MadePod {
  readonly sandboxId: string;
  /** As the runtime told it after it was made; undefined when nobody had to ask. */
  readonly sandbox: PodSandboxStatus | undefined;
  readonly containerIds: readonly string[];
}
