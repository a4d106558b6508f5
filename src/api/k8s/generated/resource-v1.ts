// Code generated from tools/kubernetes/types.txt (Kubernetes v1.37.0-rc.1) by `make generate`. DO NOT EDIT.
import type { NodeSelector } from './core-v1.ts';
import type { Condition, ObjectMeta } from './meta-v1.ts';

export interface AllocatedDeviceStatus {
  driver: string;
  pool: string;
  device: string;
  shareID?: string;
  conditions?: Array<Condition>;
  data?: Record<string, unknown>;
  networkData?: NetworkDeviceData;
}

export interface AllocationResult {
  devices?: DeviceAllocationResult;
  nodeSelector?: NodeSelector;
  allocationTimestamp?: string;
}

export interface CELDeviceSelector {
  expression: string;
}

export interface CapacityRequestPolicy {
  default?: string;
  validValues?: Array<string>;
  validRange?: CapacityRequestPolicyRange;
}

export interface CapacityRequestPolicyRange {
  min: string;
  max?: string;
  step?: string;
}

export interface CapacityRequirements {
  requests?: Record<string, string>;
}

export interface Counter {
  value: string;
}

export interface CounterSet {
  name: string;
  counters: Record<string, Counter>;
}

export interface Device {
  name: string;
  attributes?: Record<string, DeviceAttribute>;
  capacity?: Record<string, DeviceCapacity>;
  consumesCounters?: Array<DeviceCounterConsumption>;
  nodeName?: string;
  nodeSelector?: NodeSelector;
  allNodes?: boolean;
  taints?: Array<DeviceTaint>;
  bindsToNode?: boolean;
  bindingConditions?: Array<string>;
  bindingFailureConditions?: Array<string>;
  allowMultipleAllocations?: boolean;
  nodeAllocatableResources?: Record<string, NodeAllocatableResource>;
}

export interface DeviceAllocationConfiguration {
  source: string;
  requests?: Array<string>;
  opaque?: OpaqueDeviceConfiguration;
}

export interface DeviceAllocationResult {
  results?: Array<DeviceRequestAllocationResult>;
  config?: Array<DeviceAllocationConfiguration>;
}

export interface DeviceAttribute {
  int?: number;
  bool?: boolean;
  string?: string;
  version?: string;
  ints?: Array<number>;
  bools?: Array<boolean>;
  strings?: Array<string>;
  versions?: Array<string>;
}

export interface DeviceCapacity {
  value: string;
  requestPolicy?: CapacityRequestPolicy;
}

export interface DeviceClaim {
  requests?: Array<DeviceRequest>;
  constraints?: Array<DeviceConstraint>;
  config?: Array<DeviceClaimConfiguration>;
}

export interface DeviceClaimConfiguration {
  requests?: Array<string>;
  opaque?: OpaqueDeviceConfiguration;
}

export interface DeviceConstraint {
  requests?: Array<string>;
  matchAttribute?: string;
  distinctAttribute?: string;
}

export interface DeviceCounterConsumption {
  counterSet: string;
  counters: Record<string, Counter>;
  compatibilityGroups?: Array<string>;
}

export interface DeviceDerivedAttribute {
  name: string;
  expression: string;
}

export interface DeviceRequest {
  name: string;
  exactly?: ExactDeviceRequest;
  firstAvailable?: Array<DeviceSubRequest>;
}

export interface DeviceRequestAllocationResult {
  request: string;
  driver: string;
  pool: string;
  device: string;
  adminAccess?: boolean;
  tolerations?: Array<DeviceToleration>;
  bindingConditions?: Array<string>;
  bindingFailureConditions?: Array<string>;
  shareID?: string;
  consumedCapacity?: Record<string, string>;
  skipNodeOperations?: Array<string>;
}

export interface DeviceSelector {
  cel?: CELDeviceSelector;
}

export interface DeviceSubRequest {
  name: string;
  deviceClassName: string;
  selectors?: Array<DeviceSelector>;
  allocationMode?: string;
  count?: number;
  tolerations?: Array<DeviceToleration>;
  capacity?: CapacityRequirements;
  derivedAttributes?: Array<DeviceDerivedAttribute>;
}

export interface DeviceTaint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string;
}

export interface DeviceToleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

export interface ExactDeviceRequest {
  deviceClassName: string;
  selectors?: Array<DeviceSelector>;
  allocationMode?: string;
  count?: number;
  adminAccess?: boolean;
  tolerations?: Array<DeviceToleration>;
  capacity?: CapacityRequirements;
  derivedAttributes?: Array<DeviceDerivedAttribute>;
}

export interface NetworkDeviceData {
  interfaceName?: string;
  ips?: Array<string>;
  hardwareAddress?: string;
}

export interface NodeAllocatableMapping {
  capacityKey?: string;
  capacityMultiplier?: string;
  deviceMultiplier?: string;
}

export interface NodeAllocatableOverhead {
  perPod?: string;
  perContainer?: string;
}

export interface NodeAllocatableResource {
  mapping?: NodeAllocatableMapping;
  overhead?: NodeAllocatableOverhead;
}

export interface OpaqueDeviceConfiguration {
  driver: string;
  parameters: Record<string, unknown>;
}

export interface ResourceClaim {
  apiVersion?: 'resource.k8s.io/v1';
  kind?: 'ResourceClaim';
  metadata?: ObjectMeta;
  spec?: ResourceClaimSpec;
  status?: ResourceClaimStatus;
}

export interface ResourceClaimConsumerReference {
  apiGroup?: string;
  resource: string;
  name: string;
  uid: string;
}

export interface ResourceClaimSpec {
  devices?: DeviceClaim;
}

export interface ResourceClaimStatus {
  allocation?: AllocationResult;
  reservedFor?: Array<ResourceClaimConsumerReference>;
  devices?: Array<AllocatedDeviceStatus>;
}

export interface ResourcePool {
  name: string;
  generation: number;
  resourceSliceCount: number;
}

export interface ResourceSlice {
  apiVersion?: 'resource.k8s.io/v1';
  kind?: 'ResourceSlice';
  metadata?: ObjectMeta;
  spec: ResourceSliceSpec;
}

export interface ResourceSliceSpec {
  driver: string;
  pool: ResourcePool;
  nodeName?: string;
  nodeSelector?: NodeSelector;
  allNodes?: boolean;
  devices?: Array<Device>;
  perDeviceNodeSelection?: boolean;
  sharedCounters?: Array<CounterSet>;
  partitionTypeAttribute?: string;
  skipNodeOperations?: Array<string>;
}
