// An object of any kind, as it is stored.
import type { ObjectMeta } from '../../api/k8s.ts';

export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly [field: string]: unknown;
}
