// The session manager of the machine, which delays a shutdown while a service holds an inhibitor lock. Types only: implemented
// by edge/systemd, used by shutdown. Upstream: the dbusInhibiter interface of pkg/kubelet/nodeshutdown.

/** A delay lock: logind waits for its release before it shuts the machine down, up to its own limit. */
export interface InhibitorLock {
  /** Resolves with the cause when the lock is gone without a release. */
  readonly lost: Promise<string>;
  /** Resolves when logind no longer waits, or after a bounded time. Never rejects. */
  release(): Promise<void>;
}

export interface LogindSession {
  /** Resolves with the cause when the connection is lost, or logind was stopped or restarted. */
  readonly ended: Promise<string>;
  /** The longest delay of a shutdown that logind grants; Infinity if there is no limit. */
  delayLimitMs(): Promise<number>;
  /** Whether a shutdown is in progress. */
  isPreparing(): Promise<boolean>;
  /** Configures this limit and has logind read it. logind applies it a moment later. */
  raiseDelayLimit(seconds: number): Promise<void>;
  takeLock(signal: AbortSignal): Promise<InhibitorLock>;
  close(): void;
}

export interface Logind {
  /** `onPrepare`: a shutdown begins (true), or was cancelled (false). Every call of a session has a deadline. */
  connect(onPrepare: (active: boolean) => void): Promise<LogindSession>;
}
