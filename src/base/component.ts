// What the supervisor starts and stops. A constructor takes its dependencies and does nothing else; everything that
// happens, happens between start() and stopped.

export interface Component {
  /** As it appears in the log and in the error when it does not start. */
  readonly name: string;
  /**
   * Resolves when the component does its work; rejects when it cannot. Aborting the signal, before or after that,
   * asks it to stop. `stopped` settles when it has let go of everything; settling without having been asked is a failure.
   */
  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }>;
}
