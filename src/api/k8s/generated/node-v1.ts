// Code generated from tools/kubernetes/types.txt (Kubernetes v1.37.0-rc.1) by `make generate`. DO NOT EDIT.
import type { Toleration } from './core-v1.ts';
import type { ObjectMeta } from './meta-v1.ts';

export interface Overhead {
  podFixed?: Record<string, string>;
}

export interface RuntimeClass {
  apiVersion?: 'node.k8s.io/v1';
  kind?: 'RuntimeClass';
  metadata?: ObjectMeta;
  handler: string;
  overhead?: Overhead;
  scheduling?: Scheduling;
}

export interface Scheduling {
  nodeSelector?: Record<string, string>;
  tolerations?: Array<Toleration>;
}
