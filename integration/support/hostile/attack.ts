// The shape of an attack: hostile pods, and what must hold while they run.
import type { Pod } from '../../../src/api/k8s/types.ts';
import type { Target } from './target.ts';

export interface Attack {
  /** Completes the sentence "the node withstands …". */
  readonly name: string;
  /** Creates what the pods need besides the node. */
  readonly prepare?: (target: Target) => Promise<void>;
  /** Created before the attack and deleted after it, in this order; no resource of theirs may be left. */
  readonly pods: (target: Target) => readonly Pod[];
  /** Triggers what the pods do not do by themselves, and checks what the kubelet reports. */
  readonly check: (target: Target) => Promise<void>;
}
