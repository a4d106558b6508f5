// The types of a start-up step. `Cluster` is whatever opens the connection to the API server; start-up only passes it on.

/** What the steps found out. */
export interface StartupFacts<Cluster> {
  readonly nodeName: string;
  /** See NodeIps. */
  readonly nodeIps: readonly string[];
  /** Undefined in standalone mode: static pods only, nothing is reported. */
  readonly cluster: Cluster | undefined;
  readonly cgroupDriver: string;
  /** False if the runtime lacks the CRI call RuntimeConfig. */
  readonly runtimeReportsConfig: boolean;
  /** How often systemd expects a keep-alive; undefined without a watchdog. */
  readonly watchdogIntervalMs: number | undefined;
}

export const noFacts: StartupFacts<never> = {
  nodeName: '',
  nodeIps: [],
  cluster: undefined,
  cgroupDriver: '',
  runtimeReportsConfig: true,
  watchdogIntervalMs: undefined,
};

export interface Closable {
  close(): void;
}

export interface StepResult<Cluster> extends Partial<StartupFacts<Cluster>> {
  /** Held until the kubelet ends or start-up fails: the lock. */
  readonly hold?: Closable;
}

export interface StartupStep<Cluster> {
  /** As it appears in the log, in errors and in docs/start-up.md. */
  readonly name: string;
  /** The flag or field that the step depends on, for the error message: --lock-file, maxOpenFiles. */
  readonly setting?: string;
  /** `warn`: the kubelet runs without it. */
  readonly onFailure: 'fail' | 'warn';
  run(signal: AbortSignal, facts: StartupFacts<Cluster>): Promise<StepResult<Cluster>>;
}
