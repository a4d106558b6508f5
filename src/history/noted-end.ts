// What the loop notes when something ends: references to what the stores had at that moment, since a removed pod is gone from them
// before its record is written. Types only.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { ObservedContainer, ObservedSandbox } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';

export interface NotedEnd {
  readonly id: string;
  readonly atMs: number;
  readonly uid: PodUid;
  readonly namespace: string;
  readonly name: string;
  /** The last spec; undefined for a pod that this kubelet never had one of. */
  readonly pod: Pod | undefined;
  readonly lifecycle: PodLifecycle | undefined;
  readonly status: PodStatus | undefined;
  readonly subject:
    | {
        readonly is: 'container';
        readonly container: ObservedContainer;
        readonly sandbox: ObservedSandbox | undefined;
      }
    | { readonly is: 'kill'; readonly kill: PodKill }
    | { readonly is: 'rejection'; readonly reason: string; readonly message: string };
  /** False if too many ends are waiting: the record is written without log lines. */
  readonly withLines: boolean;
}
