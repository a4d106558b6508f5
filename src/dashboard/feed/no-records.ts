// Records for a kubelet that keeps none.
import type { LoadRecords } from './health-views.ts';
import type { ProbeRecords, StartRecords } from './pod-details.ts';

/** What the kubelet records about its own work. */
export interface FeedRecords {
  readonly starts: StartRecords;
  readonly probes: ProbeRecords;
  readonly load: LoadRecords;
}

export const noRecords: FeedRecords = {
  starts: { of: () => [], changed: { subscribe: () => () => undefined } },
  probes: { of: () => [] },
  load: { loopViews: () => [], calls: () => [] },
};
