// What the stream of the node's page reads of the kubelet's own records, with nothing recorded.
import type { LoadRecords } from '../../src/dashboard/feed/health-views.ts';
import type { ProbeRecords, StartRecords } from '../../src/dashboard/feed/pod-details.ts';

interface PageRecords {
  readonly starts: StartRecords;
  readonly probes: ProbeRecords;
  readonly load: LoadRecords;
}

export const noPageRecords: PageRecords = {
  starts: { of: () => [], changed: { subscribe: () => () => undefined } },
  probes: { of: () => [] },
  load: { loopViews: () => [], calls: () => [] },
};
