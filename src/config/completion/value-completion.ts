// What a shell offers as the value of a flag, decided from the flag's row. Pure.
import type { FlagEntry } from '../command-line/flag-index.ts';
import type { SubcommandOption } from '../command-line/subcommand-table.ts';
import { listedGates } from '../gates/feature-gates.ts';

export type ValueCompletion =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  /** Separated by commas. */
  | { readonly kind: 'list'; readonly words: readonly string[] }
  /** name=true,name=false */
  | { readonly kind: 'gates'; readonly names: readonly string[] }
  | { readonly kind: 'file' }
  | { readonly kind: 'directory' }
  | { readonly kind: 'none' };

export function valueCompletion({ field, isBoolean, spec, type }: FlagEntry): ValueCompletion {
  if (type === 'gates') return { kind: 'gates', names: listedGates().map(({ name }) => name) };
  if (type === 'version') return { kind: 'words', words: ['true', 'raw'] };
  if (isBoolean) return { kind: 'words', words: ['true', 'false'] };
  if (field.oneOf !== undefined) return { kind: 'words', words: field.oneOf.filter((word) => word !== '') };
  const { completes } = spec;
  if (completes === 'file' || completes === 'directory') return { kind: completes };
  if (completes !== undefined) return { kind: field.kind === 'strings' ? 'list' : 'words', words: completes };
  return { kind: field.path ? 'file' : 'none' };
}

/** Undefined for an option without a value. */
export function optionCompletion({ values }: SubcommandOption): ValueCompletion | undefined {
  if (values === undefined) return undefined;
  if (typeof values === 'object') return { kind: 'words', words: values };
  if (values === 'FILE') return { kind: 'file' };
  return { kind: values === 'DIRECTORY' ? 'directory' : 'none' };
}

/** The first sentence of a description, for the shells that show it beside the flag. */
export function shortText(doc: string): string {
  const [sentence = ''] = doc.split(/\. |: |; /, 1);
  return sentence.length <= 80 ? sentence.replace(/\.$/, '') : `${sentence.slice(0, 79)}…`;
}
