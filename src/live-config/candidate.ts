// The types between the live configuration and the process that runs kubelets. `Run` is all that a kubelet is assembled from;
// the live configuration only passes it on.
import type { ConfigContent } from './content.ts';
import type { DescribedChange } from './described-changes.ts';

/** A valid configuration. */
export interface Candidate<Run> {
  readonly checksum: string;
  /** Absolute paths of the files. */
  readonly sources: readonly string[];
  readonly content: ConfigContent;
  readonly run: Run;
}

export interface InvalidConfig {
  readonly kind: 'invalid';
  readonly checksum: string;
  readonly sources: readonly string[];
  readonly problems: readonly string[];
}

export type LoadResult<Run> = (Candidate<Run> & { readonly kind: 'valid' }) | InvalidConfig;

/** A kubelet that was assembled; its components may still be starting. */
export interface RunningKubelet<Run> {
  /** Against what is in force. */
  compare(next: Run): {
    readonly changes: readonly DescribedChange[];
    /** Whether what needs no restart can be applied alone. */
    readonly isPartlyApplicable: boolean;
    /** Why the machine cannot hold what would be in force without a restart: the next start would fail. */
    readonly fault: string | undefined;
  };
  /** Puts in force what needs no restart. */
  apply(next: Run): void;
  /** The first failing health check. */
  symptom(): string | undefined;
  /** The machine is being shut down: a restart in place would end its delay, and the node is not ready. */
  isShuttingDown(): boolean;
  /** The Ready condition as the kubelet reported it; undefined if it is not known. */
  isNodeReady(): boolean | undefined;
}

export interface RunHooks<Run> {
  assembled(kubelet: RunningKubelet<Run>): void;
  /** All components are ready. */
  started(): void;
}

export interface LiveConfigDeps<Run> {
  readonly mode: 'Apply' | 'Restart';
  readonly periodMs: number;
  /** Never rejects. Without content, the files are read. */
  readonly load: (content?: ConfigContent) => Promise<LoadResult<Run>>;
  /** Without a kubelet to ask. */
  readonly compare: (before: Run, after: Run) => readonly DescribedChange[];
  /** Runs a kubelet until the signal; resolves to the exit code, rejects if the kubelet fails. */
  readonly runKubelet: (run: Run, hooks: RunHooks<Run>, signal: AbortSignal) => Promise<number>;
  /** Reports that a file may have changed. */
  readonly watch: (onChange: () => void) => { close(): void };
  /** Notifies the service manager of a reload and of its end. */
  readonly notify: (state: 'reloading' | 'ready') => Promise<void>;
}
