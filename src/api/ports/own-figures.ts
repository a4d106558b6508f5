// What this process itself uses, and how its event loop and its memory do. Types only; edge/stats reads it.

export interface OwnFigures {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly virtualBytes: number;
  readonly virtualMaxBytes: number;
  readonly openFiles: number;
  readonly maxFiles: number;
  readonly startedAtSeconds: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly heapTotalBytes: number;
  readonly heapUsedBytes: number;
  readonly externalBytes: number;
  readonly loopUtilization: number;
  /** Since the last look; undefined on the first one. */
  readonly loopDelay:
    | {
        readonly meanSeconds: number;
        readonly p50Seconds: number;
        readonly p99Seconds: number;
        readonly maxSeconds: number;
      }
    | undefined;
}
