// Tables for `kubectl get`, which the server renders. Upstream: pkg/printers/internalversion.
import type { Event as CoreEvent, Node, Pod } from '../../../src/api/k8s/types.ts';
import type { Call } from '../request.ts';
import type { ResourceType } from './resources.ts';
import type { StoredObject } from './stored-object.ts';

interface Column {
  readonly name: string;
  readonly type?: string;
  /** Shown with -o wide only. */
  readonly wide?: boolean;
  readonly cell: (object: StoredObject, nowMs: number) => string | number;
}

export function wantsTable(call: Pick<Call, 'headers'>): boolean {
  return /application\/json;[^,]*as=Table/.test(call.headers['accept'] ?? '');
}

export function tableOf(
  type: ResourceType,
  objects: readonly StoredObject[],
  metadata: object,
  nowMs: number,
): object {
  const columns = columnsOf(type);
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns.map(({ name, type: cellType = 'string', wide }) => ({
      name,
      type: cellType,
      format: name === 'Name' ? 'name' : '',
      description: '',
      priority: wide === true ? 1 : 0,
    })),
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, nowMs)),
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
    })),
  };
}

function columnsOf(type: ResourceType): readonly Column[] {
  return tables[type.plural] ?? [nameColumn, ageColumn];
}

const nameColumn: Column = { name: 'Name', cell: ({ metadata }) => metadata.name ?? '' };
const ageColumn: Column = {
  name: 'Age',
  cell: ({ metadata }, nowMs) => age(metadata.creationTimestamp, nowMs),
};

function age(timestamp: string | undefined, nowMs: number): string {
  if (timestamp === undefined) return '<unknown>';
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(timestamp)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

function podOf(object: StoredObject): Pod {
  return object as Pod;
}

function podReady(object: StoredObject): string {
  const pod = podOf(object);
  const statuses = pod.status?.containerStatuses ?? [];
  return `${statuses.filter(({ ready }) => ready).length}/${pod.spec?.containers.length ?? 0}`;
}

function podReason(object: StoredObject): string {
  const pod = podOf(object);
  if (pod.metadata?.deletionTimestamp !== undefined) return 'Terminating';
  const init = (pod.status?.initContainerStatuses ?? []).findIndex(({ state, started }) => {
    return state?.terminated?.exitCode !== 0 && started !== true;
  });
  if (init >= 0) {
    const state = pod.status?.initContainerStatuses?.[init]?.state;
    const reason = state?.waiting?.reason ?? state?.terminated?.reason;
    if (reason !== undefined && reason !== 'PodInitializing') return `Init:${reason}`;
    return `Init:${init}/${pod.spec?.initContainers?.length ?? 0}`;
  }
  for (const { state } of pod.status?.containerStatuses ?? []) {
    const reason = state?.waiting?.reason ?? state?.terminated?.reason;
    if (reason !== undefined && reason !== '') return reason;
  }
  return pod.status?.reason ?? pod.status?.phase ?? 'Unknown';
}

function nodeStatus(object: StoredObject): string {
  const node = object as Node;
  const ready = (node.status?.conditions ?? []).find(({ type }) => type === 'Ready')?.status;
  const words = [ready === 'True' ? 'Ready' : ready === 'False' ? 'NotReady' : 'Unknown'];
  if (node.spec?.unschedulable === true) words.push('SchedulingDisabled');
  return words.join(',');
}

function nodeRoles(object: StoredObject): string {
  const prefix = 'node-role.kubernetes.io/';
  const roles = Object.keys(object.metadata.labels ?? {}).filter((key) => key.startsWith(prefix));
  return roles.map((key) => key.slice(prefix.length)).join(',') || '<none>';
}

function eventOf(object: StoredObject): CoreEvent {
  return object as unknown as CoreEvent;
}

const tables: Readonly<Record<string, readonly Column[]>> = {
  pods: [
    nameColumn,
    { name: 'Ready', cell: podReady },
    { name: 'Status', cell: podReason },
    {
      name: 'Restarts',
      cell: (object) =>
        String(
          (podOf(object).status?.containerStatuses ?? []).reduce((sum, each) => sum + each.restartCount, 0),
        ),
    },
    ageColumn,
    { name: 'IP', wide: true, cell: (object) => podOf(object).status?.podIP ?? '<none>' },
    { name: 'Node', wide: true, cell: (object) => podOf(object).spec?.nodeName ?? '<none>' },
    { name: 'Nominated Node', wide: true, cell: () => '<none>' },
    { name: 'Readiness Gates', wide: true, cell: () => '<none>' },
  ],
  nodes: [
    nameColumn,
    { name: 'Status', cell: nodeStatus },
    { name: 'Roles', cell: nodeRoles },
    ageColumn,
    { name: 'Version', cell: (object) => (object as Node).status?.nodeInfo?.kubeletVersion ?? '' },
    {
      name: 'Internal-IP',
      wide: true,
      cell: (object) =>
        (object as Node).status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '<none>',
    },
    { name: 'OS-Image', wide: true, cell: (object) => (object as Node).status?.nodeInfo?.osImage ?? '' },
    {
      name: 'Container-Runtime',
      wide: true,
      cell: (object) => (object as Node).status?.nodeInfo?.containerRuntimeVersion ?? '',
    },
  ],
  events: [
    { name: 'Last Seen', cell: (object, nowMs) => age(eventOf(object).lastTimestamp ?? undefined, nowMs) },
    { name: 'Type', cell: (object) => eventOf(object).type ?? '' },
    { name: 'Reason', cell: (object) => eventOf(object).reason ?? '' },
    {
      name: 'Object',
      cell: (object) => {
        const { kind = '', name = '' } = eventOf(object).involvedObject;
        return `${kind.toLowerCase()}/${name}`;
      },
    },
    { name: 'Message', cell: (object) => eventOf(object).message ?? '' },
  ],
};
