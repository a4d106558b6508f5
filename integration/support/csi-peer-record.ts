// What a node shows of CSI volumes: to drivers, on disk, to clients of the API server and in metrics. In a form in which two nodes
// can be compared: without times, IDs, tokens and paths of the rig.
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Node, PersistentVolumeClaim, Pod, VolumeAttachment } from '../../src/api/k8s/types.ts';
import { attachmentName, inlineHandle } from '../../src/volumes/csi/names.ts';
import { mountTable } from '../../test/csi-driver/host.ts';
import { waitFor } from '../rig/wait.ts';
import { type CsiPeerNode, nodeName } from './csi-peer-node.ts';

/** Calls that a kubelet repeats as often as it likes. */
const repeated: ReadonlySet<string> = new Set(['NodeGetCapabilities', 'NodeGetVolumeStats']);
/** Of volumes, their claims and drivers. */
const ofVolumes = /Mount|Map|Attach|Volume|Resize|FileSystem/;
/** The kubelet writes them for other reasons. */
const foreign: ReadonlySet<string> = new Set(['containers', 'etc-hosts']);

export class CsiRecord {
  readonly #node: CsiPeerNode;
  /** What a text is replaced with. */
  readonly #names = new Map<string, string>();
  readonly #claims = new Map<string, string[]>();
  /** In which order a volume is reported in use and attached, by unique name; the states of a VolumeAttachment. */
  readonly #steps = new Map<string, string[]>();

  constructor(node: CsiPeerNode) {
    this.#node = node;
    node.cluster.double.store.subscribe(({ after, type }) => {
      if (after === undefined) return;
      const { name = '', uid } = after.metadata ?? {};
      if (uid !== undefined) this.#names.set(uid, `uid-of-${type.plural}-${name}`);
      if (type.plural === 'pods') this.#inlineHandles(after as Pod);
      if (type.plural === 'persistentvolumeclaims') this.#claim(after as PersistentVolumeClaim);
      if (type.plural === 'nodes') this.#attachSteps(after as Node);
      if (type.plural === 'volumeattachments') this.#attachment(after as VolumeAttachment);
    });
  }

  #inlineHandles({ metadata, spec }: Pod): void {
    const { name: pod = '', uid = '' } = metadata ?? {};
    for (const { csi, name } of spec?.volumes ?? []) {
      if (csi === undefined) continue;
      const handle = inlineHandle(uid, name);
      this.#names.set(
        attachmentName({ driver: csi.driver, handle }, nodeName),
        `attachment-of-${pod}-${name}`,
      );
      this.#names.set(handle, `handle-of-${pod}-${name}`);
    }
  }

  #claim({ metadata, status }: PersistentVolumeClaim): void {
    const name = metadata?.name ?? '';
    const steps = this.#claims.get(name) ?? [];
    const conditions = (status?.conditions ?? []).map(
      ({ lastTransitionTime: _time, lastProbeTime: _probe, ...rest }) => rest,
    );
    const text = JSON.stringify({ ...status, conditions });
    if (steps.at(-1) !== text) steps.push(text);
    this.#claims.set(name, steps);
  }

  #attachSteps({ status }: Node): void {
    const inUse = new Set(status?.volumesInUse ?? []);
    const attached = new Set((status?.volumesAttached ?? []).map(({ name }) => name));
    // VolumeAttachments are recorded as well.
    const known = [...this.#steps.keys()].filter((name) => name.startsWith('kubernetes.io/'));
    for (const name of new Set([...known, ...inUse, ...attached]))
      this.#step(name, `${inUse.has(name) ? '' : 'not '}in use, ${attached.has(name) ? '' : 'not '}attached`);
  }

  #attachment({ metadata, spec, status }: VolumeAttachment): void {
    this.#step(metadata?.name ?? '', JSON.stringify({ spec, status }));
  }

  #step(key: string, step: string): void {
    const steps = this.#steps.get(key) ?? [];
    if (steps.at(-1) !== step) steps.push(step);
    this.#steps.set(key, steps);
  }

  /** The calls that each volume's driver received, in order, each repetition once. */
  calls(): Readonly<Record<string, readonly string[]>> {
    const found = new Map<string, string[]>();
    for (const driver of this.#node.csi.drivers)
      for (const { code, method, request } of driver.calls()) {
        const { volumeId } = request as { readonly volumeId?: string };
        if (volumeId === undefined || repeated.has(method)) continue;
        const key = this.normal(`${driver.name} ${volumeId}`);
        const line = `${method} ${code}: ${this.#text(sorted(request))}`;
        const lines = found.get(key) ?? [];
        if (lines.at(-1) !== line) lines.push(line);
        found.set(key, lines);
      }
    return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** How often each method was called. */
  counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const driver of this.#node.csi.drivers)
      for (const { method } of driver.calls()) counts[method] = (counts[method] ?? 0) + 1;
    return counts;
  }

  /** Calls of one volume at a time, and none that no kubelet should make. */
  violations(): readonly string[] {
    const found = this.#node.csi.drivers.flatMap((driver) => [...driver.violations(), ...driver.overlaps()]);
    return this.normal([...found, ...this.#node.controller.violations]);
  }

  /** Files, directories, links and mounts of volumes, as `path: type mode group`, and what is in the files of CSI. */
  disk(): readonly string[] {
    const { rootDir } = this.#node.kubelet;
    const mounts = mountTable();
    const lines: string[] = [];
    const walk = (path: string): void => {
      const found = lstatSync(path);
      const mounted = mounts.filter((each) => each.path === path);
      const type = found.isDirectory()
        ? 'dir'
        : found.isSymbolicLink()
          ? 'link'
          : found.isFile()
            ? 'file'
            : 'other';
      const link = found.isSymbolicLink() ? ` -> ${readlinkSync(path)}` : '';
      const content =
        basename(path) === 'vol_data.json' ? ` ${JSON.stringify(readFileSync(path, 'utf8'))}` : '';
      const mount = mounted.map((each) => ` mounted ${each.fsType}${each.readonly ? ' ro' : ''}`).join('');
      const mode = (found.mode & 0o7777).toString(8);
      lines.push(`${path}: ${type} ${mode} ${found.uid}:${found.gid}${link}${content}${mount}`);
      if (!found.isDirectory() || mounted.length > 0) return;
      for (const name of readdirSync(path)) if (!foreign.has(name)) walk(join(path, name));
    };
    for (const name of ['pods', 'plugins']) if (existsSync(join(rootDir, name))) walk(join(rootDir, name));
    return this.normal(lines).toSorted();
  }

  /** The Node as far as storage is concerned, and its CSINode. */
  nodeObjects(): unknown {
    const { metadata, status } = this.#node.cluster.node() ?? {};
    const csiNode = this.#node.csi.objects.get('csinodes', '', this.#node.cluster.nodeName);
    const { annotations, name, ownerReferences } = csiNode?.metadata ?? {};
    const drivers = csiNode?.spec.drivers.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return this.normal({
      annotations: metadata?.annotations,
      labels: metadata?.labels,
      volumesInUse: status?.volumesInUse,
      volumesAttached: status?.volumesAttached,
      csiNode: sorted({ name, annotations, ownerReferences, drivers }),
    });
  }

  /** By volume and VolumeAttachment. */
  attachments(): Readonly<Record<string, readonly string[]>> {
    return this.normal(Object.fromEntries([...this.#steps].toSorted(([a], [b]) => (a < b ? -1 : 1))));
  }

  /** The statuses that each claim had, in order. */
  claims(): Readonly<Record<string, readonly unknown[]>> {
    const pairs = [...this.#claims].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return this.normal(
      Object.fromEntries(pairs.map(([name, steps]) => [name, steps.map((step) => sorted(JSON.parse(step)))])),
    );
  }

  /** Without `resources`, which a Go kubelet reports as requested until the next sync. */
  statuses(): unknown {
    const pods = this.#node.csi.objects.list('pods', 'default').map(({ metadata, status }) => {
      const { resources: _, ...rest } = status ?? {};
      const containerStatuses = status?.containerStatuses?.map(({ resources: __, ...each }) => each);
      const conditions = status?.conditions?.toSorted((a, b) => (a.type < b.type ? -1 : 1));
      return [metadata?.name ?? '', sorted({ ...rest, conditions, containerStatuses })] as const;
    });
    return this.normal(Object.fromEntries(pods.toSorted(([a], [b]) => (a < b ? -1 : 1))));
  }

  /** One line per event. */
  events(): readonly string[] {
    const lines = this.#node.csi.objects
      .list('events')
      .filter(({ reason = '' }) => ofVolumes.test(reason))
      .map(
        ({ involvedObject, message, reason, source, type }) =>
          `${involvedObject.kind} ${involvedObject.name} ${type} ${reason} ${source?.component}: ${message}`,
      );
    return [...new Set(this.normal(lines))].toSorted();
  }

  /** Names with labels. */
  async metrics(): Promise<readonly string[]> {
    const { text } = await this.#node.kubelet.secure('/metrics');
    const names =
      /^((?:csi_operations|storage_operation|volume_manager|volume_operation|kubelet_volume_metric|reconstruct|force_cleaned)\w*(?:\{.*\})?) /;
    const lines = text.split('\n').flatMap((line) => sortLabels(names.exec(line)?.[1] ?? ''));
    return [...new Set(lines.filter((line) => !/_(?:bucket|sum)\{/.test(line)))].toSorted();
  }

  /** How many volumes there are, by plugin and state. */
  async volumeCounts(): Promise<readonly string[]> {
    const { text } = await this.#node.kubelet.secure('/metrics');
    return text
      .split('\n')
      .filter((line) => line.startsWith('volume_manager_total_volumes{'))
      .toSorted();
  }

  /** The usage metrics of claims, without their values, once so many claims have a capacity. */
  async usage(claims: number): Promise<readonly string[]> {
    return await waitFor(
      async () => {
        const { text } = await this.#node.kubelet.secure('/metrics');
        const names = text
          .split('\n')
          .flatMap((line) => /^kubelet_volume_stats_\w+\{.*\}/.exec(line)?.[0] ?? []);
        if (names.filter((name) => name.includes('capacity_bytes')).length === claims)
          return names.toSorted();
        throw new Error(names.join('\n'));
      },
      `the usage of ${claims} claims`,
      60_000,
    );
  }

  normal<T>(value: T): T {
    return JSON.parse(this.#text(value)) as T;
  }

  #text(value: unknown): string {
    let text = JSON.stringify(value ?? null);
    for (const [from, to] of this.#names) text = text.replaceAll(from, to);
    return text
      .replaceAll(this.#node.kubelet.rootDir, '<root>')
      .replaceAll(this.#node.rig.workspace.dir, '<rig>')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>')
      .replaceAll(/containerd:\/\/[0-9a-f]{64}/g, '<container>')
      .replaceAll(/\b(?:10|192)\.\d+\.\d+\.\d+/g, '<ip>')
      .replaceAll(/\/dev\/loop\d+/g, '<device>')
      .replaceAll(/"resourceVersion":"[^"]*"/g, '"resourceVersion":"<version>"');
  }
}

/** With the keys of all objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, each]) => [key, sorted(each)]));
}

/** `name{a="1",b="2"}`; no value has a comma. */
function sortLabels(line: string): readonly string[] {
  const [, name = '', labels] = /^(\w+)(?:\{(.*)\})?$/.exec(line) ?? [];
  if (name === '') return [];
  return [labels === undefined ? name : `${name}{${labels.split(',').toSorted().join(',')}}`];
}
