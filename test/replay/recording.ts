// Reads the recordings in this folder: what the Go kubelet v1.37.0 did with these pods on containerd 2.1.9,
// reduced by tools/import-recordings.ts. The statuses of the same recordings are in src/status/fixtures.
//   calls:  the CRI requests in order, without removals and repeated probes, as differences from the plain request of
//           base.json (null: without that field), a path per field. SANDBOX1, CONTAINER2 …: in order of creation.
//   events: "TYPE REASON FIELDPATH MESSAGE", once each, in the order in which they first happened.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigMap, Pod, ResourceRequirements, Secret } from '../../src/api/k8s/types.ts';

export type Fields = Readonly<Record<string, unknown>>;

type RecordedCall =
  | readonly ['RunPodSandbox', Fields]
  | readonly ['CreateContainer', string, Fields]
  | readonly ['StartContainer' | 'StopPodSandbox' | 'PullImage', string]
  | readonly ['UpdateContainerResources' | 'UpdatePodSandboxResources', string, Fields]
  | readonly ['StopContainer', string, number]
  | readonly ['ExecSync', string, readonly string[], number];

export interface Recording {
  readonly name: string;
  readonly objects?: readonly (ConfigMap | Secret)[];
  readonly pod: Pick<Pod, 'metadata' | 'spec'>;
  /** A resize of the pod's own resources. */
  readonly resize?: { readonly atMs: number; readonly resources: ResourceRequirements };
  readonly deleteAtMs: number;
  readonly graceSeconds: number;
  readonly events: readonly string[];
  readonly calls: readonly RecordedCall[];
}

/** The requests of a pod without any special setting. */
export interface PlainRequests {
  readonly sandbox: Fields;
  readonly container: Fields;
}

let cached: PlainRequests | undefined;

function plainRequests(): PlainRequests {
  cached ??= readJson('base.json') as PlainRequests;
  return cached;
}

export function readRecordings(): readonly Recording[] {
  return readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('.json') && file !== 'base.json')
    .map((file) => readJson(file) as Recording);
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8'));
}

/** The recorded call with its full request. */
export function wholeCall(recording: Recording, call: RecordedCall): readonly unknown[] {
  if (call[0] === 'RunPodSandbox')
    return [call[0], mergedRequest(plainRequests().sandbox, call[1], recording.name, '')];
  if (call[0] !== 'CreateContainer') return call;
  return [call[0], call[1], mergedRequest(plainRequests().container, call[2], recording.name, call[1])];
}

export function mergedRequest(
  plain: Fields,
  special: Fields,
  podName: string,
  containerName: string,
): Fields {
  const text = JSON.stringify(plain).replaceAll('$POD', podName).replaceAll('$NAME', containerName);
  const fields = { ...(JSON.parse(text) as Fields), ...special };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
