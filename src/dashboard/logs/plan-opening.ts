// Decides which instance of a container a viewer reads next. Pure. Upstream: none.

/** A container as it is now; texts for people. */
export interface ContainerInstance {
  readonly name: string;
  readonly state: string;
  /** The instance whose log is read, and the one before it; undefined without one. */
  readonly current: string | undefined;
  readonly previous: string | undefined;
  /** No further instance can follow. */
  readonly isFinal: boolean;
}

type Opening =
  /** Nothing more can come. */
  | { readonly do: 'end' }
  /** There is nothing to read yet. */
  | { readonly do: 'wait'; readonly problem?: string }
  | {
      readonly do: 'open';
      readonly id: string;
      /** The parameter of the request: the log up to now, the current one as it grows, or the previous instance's. */
      readonly from: 'whole' | 'follow' | 'previous';
      /** It was read before, up to a position. */
      readonly resumes: boolean;
      /** Output of an earlier instance was not read and cannot be. */
      readonly isGap: boolean;
    };

/** `own`: the instance that was read last, if any; `finished`: the last one whose end was read. */
export function planOpening(
  seen: ContainerInstance | undefined,
  { follow, previous }: { readonly follow: boolean; readonly previous: boolean },
  own: string | undefined,
  finished: string | undefined,
): Opening {
  if (seen === undefined) return { do: 'end' };
  const id = previous ? seen.previous : seen.current;
  if (id === undefined) return { do: 'wait', problem: previous ? 'it has no previous instance' : seen.state };
  if (id === finished) return previous || !follow || seen.isFinal ? { do: 'end' } : { do: 'wait' };
  if (previous) return { do: 'open', id, from: 'previous', resumes: id === own, isGap: false };
  const isUnfinished = own !== undefined && own !== id && own !== finished;
  // The end of an earlier instance first, if this viewer has seen only a part of it.
  if (isUnfinished && own === seen.previous)
    return { do: 'open', id: own, from: 'previous', resumes: true, isGap: false };
  return { do: 'open', id, from: follow ? 'follow' : 'whole', resumes: id === own, isGap: isUnfinished };
}
