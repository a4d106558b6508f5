// What start-up consists of, as data: who reads the list of steps has read the order.

/** What the steps found out. */
export interface StartupFacts {
  readonly nodeName: string;
  /** See NodeIps. */
  readonly nodeIps: readonly string[];
  /** There is no API server: only static pods, and nobody to report to. */
  readonly standalone: boolean;
}

export interface Closable {
  close(): void;
}

export interface StepResult extends Partial<StartupFacts> {
  /** Kept open until the kubelet ends, or start-up fails: the lock. */
  readonly hold?: Closable;
}

export interface StartupStep {
  /** As it appears in the log and in the error. */
  readonly name: string;
  /** The flag or field to look at when the step fails: --lock-file, maxOpenFiles. */
  readonly setting?: string;
  /** Whether the kubelet can do without it. */
  readonly onFailure: 'fail' | 'warn';
  run(signal: AbortSignal): Promise<StepResult>;
}
