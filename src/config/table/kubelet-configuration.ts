// KubeletConfiguration kubelet.config.k8s.io/v1beta1 as a table: 123 fields in upstream's order, which /configz shares.
// Upstream: staging/src/k8s.io/kubelet/config/v1beta1, pkg/kubelet/apis/config/v1beta1/defaults.go.
import type { InferConfig } from '../schema.ts';
import { eviction } from './eviction.ts';
import { node } from './node.ts';
import { operation } from './operation.ts';
import { reserved } from './reserved.ts';
import { resources } from './resources.ts';
import { serving } from './serving.ts';

export const kubeletConfiguration = {
  ...serving,
  ...node,
  ...resources,
  ...eviction,
  ...reserved,
  ...operation,
};

export type KubeletConfiguration = InferConfig<typeof kubeletConfiguration>;
