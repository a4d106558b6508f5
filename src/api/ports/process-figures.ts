// CPU, memory, files and event loop of the kubelet's own process. Types only; edge/stats reads them.

export interface ProcessFigures {
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
  /** Since the previous reading; undefined in the first one. */
  readonly loopDelay:
    | {
        readonly meanSeconds: number;
        readonly p50Seconds: number;
        readonly p99Seconds: number;
        readonly maxSeconds: number;
      }
    | undefined;
}

/** What changes from second to second. Reading it changes nothing that ProcessFigures reports. */
export type ProcessLoad = Pick<
  ProcessFigures,
  'cpuSeconds' | 'residentBytes' | 'heapUsedBytes' | 'openFiles'
>;
