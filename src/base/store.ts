// State in memory with exactly one writer and any number of readers. A store announces keys on its channels, never state.

/** The two names that docs/wiring.md shows of a store. */
export interface Store {
  readonly storeName: string;
  /** The component, or the kind of component, that alone writes it. */
  readonly writer: string;
}
