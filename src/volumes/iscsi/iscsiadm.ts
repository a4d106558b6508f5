// Runs iscsiadm. Upstream: the exec calls of pkg/volume/iscsi/iscsi_util.go.
// Invariants: every command has a deadline, which upstream lacks; a secret is passed as a sensitive argument, and the output of
// such a command is not quoted except for its masked standard error.
import type { HostPrograms } from '../../api/ports/host-programs.ts';
import { isKind, KubeletError } from '../../base/errors.ts';

interface IscsiadmResult {
  /** For messages: truncated, without secrets. */
  readonly output: string;
  /** For parsing. */
  readonly stdout: string;
  /** `exit status 21`; undefined for success. */
  readonly failure: string | undefined;
  readonly code: number | undefined;
}

/** A login retries for 2 minutes by default before it fails. */
const timeoutMs = 150_000;
const maxOutputChars = 2_000;

export class Iscsiadm {
  readonly #programs: HostPrograms;
  readonly #signal: AbortSignal;

  constructor(programs: HostPrograms, signal: AbortSignal) {
    this.#programs = programs;
    this.#signal = signal;
  }

  /** Rejects only if iscsiadm is missing, or on abort. */
  async run(args: readonly string[], secret?: string): Promise<IscsiadmResult> {
    const sensitive = secret === undefined ? [] : [secret];
    try {
      const run = { program: 'iscsiadm', args, timeoutMs, sensitive };
      const { code, stderr, stdout } = await this.#programs.run(run, this.#signal);
      const output = secret === undefined ? `${stdout}${stderr}` : stderr;
      const failure =
        code === 0 ? undefined : code === undefined ? 'killed by a signal' : `exit status ${code}`;
      return { output: output.slice(0, maxOutputChars), stdout, failure, code };
    } catch (err) {
      this.#signal.throwIfAborted();
      if (isKind(err, 'timeout') && err instanceof KubeletError)
        return { output: '', stdout: '', failure: err.message, code: undefined };
      if (!isKind(err, 'not-found')) throw err;
      throw new KubeletError(
        'unavailable',
        'ProgramNotFound',
        'iscsiadm not found on the node: install the package open-iscsi (iscsi-initiator-utils)',
        { cause: err },
      );
    }
  }
}

export function failed(message: string): KubeletError {
  return new KubeletError('unavailable', 'FailedAttach', message);
}
