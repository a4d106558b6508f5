// What every attack is: pods, and what is done and must be true while they run.
import type { Pod } from '../../../src/api/k8s/types.ts';
import type { Target } from './target.ts';

export interface Attack {
  /** Completes the sentence "the node withstands …". */
  readonly name: string;
  /** Whatever the pods need beyond the node. */
  readonly prepare?: (target: Target) => Promise<void>;
  /** Created before the attack and deleted after it, in this order; nothing of them may be left. */
  readonly pods: (target: Target) => readonly Pod[];
  /** Provokes what the pods do not do by themselves, and checks what the kubelet reports of them. */
  readonly check: (target: Target) => Promise<void>;
}
