// What a check found: status, finding and fix. Data and constructors.

export type FindingStatus = 'ok' | 'warn' | 'fail';

export interface Finding {
  readonly status: FindingStatus;
  /** One sentence. */
  readonly finding: string;
  /** A command or a setting; for warn and fail. */
  readonly fix?: string;
}

export function ok(finding: string): Finding {
  return { status: 'ok', finding };
}

/** The kubelet runs, but something does not work, or will not for long. */
export function warn(finding: string, fix: string): Finding {
  return { status: 'warn', finding, fix };
}

/** The kubelet does not start, or pods do not run. */
export function fail(finding: string, fix: string): Finding {
  return { status: 'fail', finding, fix };
}

/** A fact about the machine, or why it is not known. */
export type Fact<T> =
  | { readonly isKnown: true; readonly value: T }
  | { readonly isKnown: false; readonly why: string };

/** The finding for a fact; a fact that is not known is a warning. */
export function judgeKnown<T>(fact: Fact<T>, what: string, judge: (value: T) => Finding): Finding {
  return fact.isKnown
    ? judge(fact.value)
    : warn(
        `${what} cannot be determined: ${fact.why}`,
        'run as root on the node itself, and check what the error names',
      );
}
