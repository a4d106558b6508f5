// The messages between the page and the worker of its searches. Types only.
import type { Ranges } from './matcher.ts';

export type SearchRequest =
  | {
      readonly do: 'match';
      readonly pattern: string;
      readonly first: number;
      readonly texts: readonly string[];
    }
  | {
      readonly do: 'scan';
      readonly pattern: string;
      readonly url: string;
      readonly token: string | undefined;
      readonly container: string;
    };

export interface FoundLine {
  readonly container: string;
  readonly time: string;
  readonly text: string;
}

export type SearchAnswer =
  /** `found`: the number of a line and its matches. */
  | { readonly is: 'matched'; readonly found: readonly (readonly [number, Ranges])[] }
  /** The expression runs from now on; `progress` ends it. */
  | { readonly is: 'busy' }
  | { readonly is: 'progress'; readonly bytes: number; readonly found: readonly FoundLine[] }
  | { readonly is: 'done'; readonly problem?: string };
