// What a node shows of exclusive CPUs, memory and devices: to clients of the API server, to clients of podresources, to the
// container runtime and on disk. In a form in which two nodes can be compared: without times, IDs and random orders.
import { join } from 'node:path';
import { expect } from 'vitest';
import { callOnce } from '../../examples/device-plugin/grpc.ts';
import { criLabels } from '../../src/api/cri/labels.ts';
import { ContainerAllocateResponse } from '../../src/api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { PodResourcesListerDefinition } from '../../src/api/kubelet/generated/podresources/v1/api.ts';
import { decodeCpuState, encodeCpuState } from '../../src/resources/cpu/cpu-state.ts';
import { devicesAnnotation } from '../../src/resources/devices/device-annotation.ts';
import { decodeDeviceCheckpoint } from '../../src/resources/devices/device-checkpoint.ts';
import { decodeMemoryState, encodeMemoryState } from '../../src/resources/memory/memory-state.ts';
import type { ManagersNode } from './managers-node.ts';
import { uidOf } from './pod-state.ts';

interface CreateRequest {
  readonly config?: Readonly<Record<'labels' | 'annotations', Readonly<Record<string, string>>>>;
}

export class ManagersRecord {
  readonly #node: ManagersNode;
  readonly #uids = new Map<string, string>();
  /** `pod/container` by ID. */
  readonly #containers = new Map<string, string>();

  constructor(node: ManagersNode) {
    this.#node = node;
    node.cluster.double.store.subscribe(({ after, type }) => {
      const { name, uid } = after?.metadata ?? {};
      if (type.plural === 'pods' && uid !== undefined) this.#uids.set(uid, name ?? '');
    });
  }

  /** Statuses of the pods that exist, without `resources`: a Go kubelet reports those as requested until the next sync. */
  statuses(): unknown {
    const pods = this.#node.cluster.double.objects.list('pods', 'default').map(({ metadata, status }) => {
      const { resources: _, ...rest } = status ?? {};
      return [metadata?.name, rest];
    });
    return sortLists(this.#normal(Object.fromEntries(pods)));
  }

  nodeResources(): unknown {
    const { allocatable, capacity } = this.#node.cluster.node()?.status ?? {};
    return { allocatable, capacity };
  }

  /** One line per event of a pod, sorted. */
  events(): readonly string[] {
    const events = this.#node.cluster.double.objects.list('events');
    const lines = events
      .filter(({ involvedObject }) => involvedObject.kind === 'Pod')
      .map(
        ({ involvedObject, message, reason, source, type }) =>
          `${involvedObject.name} ${involvedObject.fieldPath ?? ''} ${type} ${reason} ${source?.component}: ${message}`,
      );
    return [...new Set(this.#normal(lines) as string[])].toSorted();
  }

  /** The answers of podresources as they are, except for the orders that the Go kubelet leaves to chance. */
  async podResources(): Promise<unknown> {
    const socket = join(this.#node.kubelet.rootDir, 'pod-resources', 'kubelet.sock');
    const call = (method: string): Promise<unknown> =>
      callOnce(socket, PodResourcesListerDefinition, method, {});
    const [listed, allocatable] = [await call('list'), await call('getAllocatableResources')];
    return sortLists(this.#normal({ listed, allocatable }));
  }

  /** The CreateContainer requests by `pod/container`, without the annotation that only this kubelet sets. */
  created(): Readonly<Record<string, unknown>> {
    const calls = this.#node.cri.calls.filter(({ method }) => method === 'createContainer');
    const pairs = calls.map(({ request }) => {
      const { config } = request as CreateRequest;
      const { [devicesAnnotation]: _, ...annotations } = config?.annotations ?? {};
      return [this.#nameOf(config?.labels ?? {}), sortLists(this.#normal({ ...config, annotations }))];
    });
    return Object.fromEntries(pairs);
  }

  /** The distinct UpdateContainerResources requests of a container, by `pod/container`. */
  updated(name: string): readonly string[] {
    const found = new Set<string>();
    for (const { method, request } of this.#node.cri.calls) {
      const { containerId, ...rest } = request as { readonly containerId: string };
      if (method === 'updateContainerResources' && this.#containers.get(containerId) === name)
        found.add(JSON.stringify(sortLists(this.#normal(rest))));
    }
    return [...found].toSorted();
  }

  /** The calls that the device plugin received from call number `from` on. */
  pluginCalls(from: number): unknown {
    return sortLists(
      this.#normal(
        this.#node.plugin
          .calls()
          .slice(from)
          .map(({ call, request }) => ({ call, request })),
      ),
    );
  }

  #nameOf(labels: Readonly<Record<string, string>>): string {
    return `${labels[criLabels.podName]}/${labels[criLabels.containerName]}`;
  }

  /** The kernel's cpuset of all containers that run, by `pod/container`. */
  async cpusets(): Promise<Readonly<Record<string, string>>> {
    const { cri } = this.#node.rig;
    const { containers } = await cri.listContainers({ filter: { state: { state: 1 } } });
    for (const { id, labels } of containers) this.#containers.set(id, this.#nameOf(labels));
    const cmd = ['grep', 'Cpus_allowed_list', '/proc/self/status'];
    const pairs = containers.map(async ({ id, labels }) => {
      const { stdout } = await cri.execSync({ containerId: id, cmd, timeout: 10n });
      return [this.#nameOf(labels), new TextDecoder().decode(stdout).trim()] as const;
    });
    return Object.fromEntries((await Promise.all(pairs)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /**
   * The state files; each is checked to be whole, and those of CPUs and memory byte for byte. Without the devices of pods that were rejected, which a Go kubelet keeps until
   * the next allocation.
   */
  stateFiles(): unknown {
    const files = this.#node.stateFiles();
    const pods = this.#node.cluster.double.objects.list('pods', 'default');
    const failed = pods.filter(({ status }) => status?.phase === 'Failed').map(uidOf);
    const devices = decodeDeviceCheckpoint(files['device-plugins/kubelet_internal_checkpoint'] ?? '');
    const cpu = decodeCpuState(files['cpu_manager_state'] ?? '');
    const memory = decodeMemoryState(files['memory_manager_state'] ?? '');
    // Neither has an order that is left to chance.
    expect(encodeCpuState(cpu)).toBe(files['cpu_manager_state']);
    expect(encodeMemoryState(memory)).toBe(files['memory_manager_state']);
    return sortLists(
      this.#normal({
        cpu,
        memory,
        entries: devices.entries
          .filter(({ podUid }) => !failed.includes(podUid))
          .map((each) => ({
            ...each,
            devices: Object.fromEntries(each.devices),
            response: ContainerAllocateResponse.decode(each.response),
          })),
        registered: Object.fromEntries(devices.registered),
      }),
    );
  }

  #normal(value: unknown): unknown {
    let text = JSON.stringify(value ?? null, plain);
    for (const [uid, name] of this.#uids) text = text.replaceAll(uid, `uid-of-${name}`);
    text = text
      .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"<time>"')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uid>')
      .replaceAll(/[0-9a-f]{64}/g, '<hash>')
      .replaceAll(/\b(?:10|192)\.\d+\.\d+\.\d+/g, '<ip>')
      .replaceAll(/kube-api-access-\w+/g, 'kube-api-access-<suffix>')
      .replaceAll(/containers\/(\w+)\/[0-9a-f]{8}/g, 'containers/$1/<suffix>')
      .replaceAll(/krig-?\d+/g, '<rig>');
    return JSON.parse(text);
  }
}

/** What JSON lacks; the values of environment variables are bytes. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  const { data, type } = (value ?? {}) as { readonly data?: readonly number[]; readonly type?: unknown };
  return type === 'Buffer' ? Buffer.from(data ?? []).toString() : value;
}

/** Keys, lists, and lists of device IDs in texts: the Go kubelet leaves most of them to chance. */
function sortLists(value: unknown): unknown {
  if (typeof value === 'string') return sortIds(value);
  if (Array.isArray(value))
    return value.map(sortLists).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sortLists(each)]));
}

/** Of `1,0`. */
function sortIds(text: string): string {
  return /^\d+(,\d+)+$/.test(text) ? text.split(',').toSorted().join(',') : text;
}
