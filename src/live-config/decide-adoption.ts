// Decides what a changed configuration takes: nothing, a restart in place, or only what needs no restart. Pure.
// Invariant: what the machine cannot hold is not put in force without the start that would refuse it.
import type { DescribedChange } from './described-changes.ts';

interface AdoptionInput {
  readonly changes: readonly DescribedChange[];
  readonly isPartlyApplicable: boolean;
  readonly fault: string | undefined;
  readonly mode: 'Apply' | 'Restart';
  /** It has nothing in force yet, so it begins again with any change. */
  readonly isStarting: boolean;
}

export type Adoption =
  | { readonly do: 'nothing' }
  | { readonly do: 'reject'; readonly fault: string }
  | { readonly do: 'restart' }
  /** Paths of fields: those that are put in force, and those that wait for a restart by the operator. */
  | { readonly do: 'apply'; readonly now: readonly string[]; readonly pending: readonly string[] };

export function computeAdoption(input: AdoptionInput): Adoption {
  const { changes, fault, isPartlyApplicable, isStarting, mode } = input;
  if (changes.length === 0) return { do: 'nothing' };
  if (isStarting) return { do: 'restart' };
  const needsRestart = changes.some(({ applies }) => applies === 'restart');
  if (needsRestart && mode === 'Restart') return { do: 'restart' };
  if (!needsRestart && fault !== undefined) return { do: 'reject', fault };
  const waits = ({ applies }: DescribedChange): boolean =>
    needsRestart && (applies === 'restart' || !isPartlyApplicable);
  return {
    do: 'apply',
    now: changes.filter((change) => !waits(change)).map(({ path }) => path),
    pending: changes.filter(waits).map(({ path }) => path),
  };
}
