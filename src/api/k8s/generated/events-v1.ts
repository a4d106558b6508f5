// Code generated from tools/kubernetes/types.txt (Kubernetes v1.37.0-rc.1) by `make generate`. DO NOT EDIT.
import type { EventSource, ObjectReference } from './core-v1.ts';
import type { ObjectMeta } from './meta-v1.ts';

export interface Event {
  apiVersion?: 'events.k8s.io/v1';
  kind?: 'Event';
  metadata?: ObjectMeta;
  eventTime: string;
  series?: EventSeries;
  reportingController?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  regarding?: ObjectReference;
  related?: ObjectReference;
  note?: string;
  type?: string;
  deprecatedSource?: EventSource;
  deprecatedFirstTimestamp?: string;
  deprecatedLastTimestamp?: string;
  deprecatedCount?: number;
}

export interface EventSeries {
  count: number;
  lastObservedTime: string;
}
