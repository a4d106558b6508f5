// Decodes a manifest into its pods, without defaulting and validation.
// Invariants: never throws; every unusable document is a fault of one sentence; a bad document does not affect the others,
// unless the text cannot be parsed. Upstream: pkg/kubelet/config (tryDecodeSinglePod, tryDecodePodList).
import type { Pod } from '../../api/k8s/types.ts';
import { describeError } from '../../base/errors.ts';
import { decodeTyped } from './decode-typed.ts';
import { type ManifestNode, ManifestSyntaxError, Places } from './manifest-node.ts';
import { looksLikeJson, parseJson } from './parse-json.ts';
import { parseYaml } from './parse-yaml.ts';

export const maxManifestBytes = 10 * 2 ** 20;

export interface ManifestFault {
  readonly reason: string;
  /** `namespace/name` in the manifest, if it can be determined. Otherwise the fault may concern any pod. */
  readonly pod?: string;
  /** The document is valid but not a pod, so it cannot concern a running pod. */
  readonly notAPod?: true;
}

export interface DecodedManifest {
  readonly pods: readonly Pod[];
  readonly faults: readonly ManifestFault[];
  /** Unknown fields with their line. They are ignored, as in the API server. */
  readonly unknownFields: readonly string[];
}

const maxReported = 8;

export function decodeManifest(bytes: Uint8Array): DecodedManifest {
  let places: Places;
  let documents: ManifestNode[];
  try {
    const text = readText(bytes);
    places = new Places(text);
    documents = looksLikeJson(text) ? parseJson(text, places) : parseYaml(text, places);
  } catch (err) {
    return { pods: [], faults: [{ reason: describeError(err) }], unknownFields: [] };
  }
  const decoded = new ManifestDecoder(places);
  for (const document of documents) decoded.document(document);
  if (documents.length === 0) decoded.faults.push({ reason: emptyReason(bytes) });
  return decoded;
}

function emptyReason(bytes: Uint8Array): string {
  return bytes.length === 0 ? 'the file is empty' : 'the file has no document in it';
}

function readText(bytes: Uint8Array): string {
  if (bytes.length > maxManifestBytes)
    throw new ManifestSyntaxError(`is larger than ${maxManifestBytes} bytes`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ManifestSyntaxError('is not text: it is not valid UTF-8');
  }
  const control = findControl(text);
  if (control >= 0)
    throw new ManifestSyntaxError('is not text: it has control characters', new Places(text).at(control));
  return text;
}

/** The first control character that only binary files contain; -1 without one. */
function findControl(text: string): number {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if ((code < 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d) || code === 0x7f) return at;
  }
  return -1;
}

class ManifestDecoder implements DecodedManifest {
  readonly pods: Pod[] = [];
  readonly faults: ManifestFault[] = [];
  readonly unknownFields: string[] = [];
  readonly #places: Places;

  constructor(places: Places) {
    this.#places = places;
  }

  // differs from upstream: a file may contain several documents and lists, not just one pod.
  document(node: ManifestNode): void {
    if (node.kind !== 'map') {
      this.#fault(node, 'the document is not an object, so it has neither apiVersion nor kind');
      return;
    }
    const apiVersion = stringField(node, 'apiVersion');
    const kind = stringField(node, 'kind');
    if (kind === undefined || apiVersion === undefined) {
      this.#fault(node, `${kind === undefined ? 'kind' : 'apiVersion'} is missing`, podName(node));
      return;
    }
    if (apiVersion === 'v1' && kind === 'Pod') this.#pod(node, '');
    else if (apiVersion === 'v1' && (kind === 'PodList' || kind === 'List')) this.#podList(node, kind);
    else if (kind === 'Pod')
      this.#fault(node, `apiVersion "${apiVersion}" of Pod is not known, only "v1" is`, podName(node));
    else
      this.#notAPod(
        node,
        `kind "${kind}" (${apiVersion}) is not supported here, only Pod, PodList and List of v1`,
      );
  }

  #podList(node: ManifestNode & { kind: 'map' }, kind: string): void {
    const items = node.entries.get('items');
    if (items === undefined || (items.kind === 'scalar' && items.value === null)) return;
    if (items.kind !== 'list') {
      this.#fault(items, 'items: must be a list');
      return;
    }
    for (const [index, item] of items.items.entries()) {
      const itemKind = item.kind === 'map' ? stringField(item, 'kind') : undefined;
      const apiVersion = item.kind === 'map' ? stringField(item, 'apiVersion') : undefined;
      // Items of a PodList may omit their kind; items of a List may not.
      const isPod = kind === 'PodList' ? (itemKind ?? 'Pod') : itemKind;
      if (item.kind !== 'map') this.#fault(item, `items[${index}]: must be a map`);
      else if (isPod !== 'Pod' || (apiVersion ?? (kind === 'PodList' ? 'v1' : undefined)) !== 'v1')
        this.#notAPod(
          item,
          `items[${index}]: kind "${itemKind ?? ''}" (${apiVersion ?? ''}) is not a v1 Pod`,
        );
      else this.#pod(item, `items[${index}]`);
    }
  }

  #pod(node: ManifestNode & { kind: 'map' }, path: string): void {
    const typed = decodeTyped(node, 'Pod', path, this.#places);
    const pod = podName(node);
    this.unknownFields.push(...typed.unknownFields);
    if (typed.problems.length > 0) {
      const shown = typed.problems.slice(0, maxReported);
      const more = typed.problems.length - shown.length;
      const reason = more > 0 ? [...shown, `and ${more} more`] : shown;
      this.faults.push({ reason: reason.join('; '), ...(pod === undefined ? {} : { pod }) });
    } else if (pod === undefined) this.#fault(node, 'metadata.name: Required value');
    else this.pods.push({ ...typed.value, apiVersion: 'v1', kind: 'Pod' });
  }

  #notAPod(node: ManifestNode, reason: string): void {
    this.faults.push({ reason: this.#located(node, reason), notAPod: true });
  }

  #fault(node: ManifestNode, reason: string, pod?: string): void {
    this.faults.push({ reason: this.#located(node, reason), ...(pod === undefined ? {} : { pod }) });
  }

  #located(node: ManifestNode, reason: string): string {
    return `line ${this.#places.at(node.offset).line}: ${reason}`;
  }
}

function stringField(node: ManifestNode & { kind: 'map' }, key: string): string | undefined {
  const value = node.entries.get(key);
  return value?.kind === 'scalar' && typeof value.value === 'string' && value.value !== ''
    ? value.value
    : undefined;
}

function podName(node: ManifestNode & { kind: 'map' }): string | undefined {
  const metadata = node.entries.get('metadata');
  if (metadata?.kind !== 'map') return undefined;
  const name = stringField(metadata, 'name');
  return name === undefined ? undefined : `${stringField(metadata, 'namespace') ?? 'default'}/${name}`;
}
