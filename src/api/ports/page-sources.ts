// What the running kubelet records for its page, beyond its stores. Types only: src/assemble hands the sources over, and
// whoever composes a view reads them on demand. Nothing is sampled or kept for a view that nobody looks at.
import type { LoopView } from './node-page.ts';

export interface PageSources {
  /** The load of every loop now. Takes time in proportion to the active keys. */
  readonly loops: () => readonly LoopView[];
}
