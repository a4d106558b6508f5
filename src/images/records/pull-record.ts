// The file formats of pull records, which keep pods without credentials from images that were pulled with them: an intent while
// a pull is in flight, a record once it succeeded. Pure. Upstream: ImagePullIntent and ImagePulledRecord of
// kubelet.config.k8s.io/v1beta1; upstream's kubelet can read the files. v1alpha1, the version up to 1.34, is read, too.
import { createHash } from 'node:crypto';
import { goJsonString } from '../../api/k8s/go-json.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import type { Coordinates, PullCredential } from '../credentials/keyring.ts';

export interface RecordedSecret extends Coordinates {
  readonly credentialHash: string;
}

/** Access to an image: pods with one of these credentials, or every pod of the node. */
export interface RecordedCredentials {
  readonly secrets: readonly RecordedSecret[];
  readonly serviceAccounts: readonly Coordinates[];
  readonly nodePodsAccessible: boolean;
}

export interface PullIntent {
  readonly image: string;
}

export interface PulledRecord {
  readonly lastUpdatedMs: number;
  readonly imageRef: string;
  /** By image name without tag and digest. */
  readonly credentials: ReadonlyMap<string, RecordedCredentials>;
}

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
const readVersions: readonly unknown[] = [apiVersion, 'kubelet.config.k8s.io/v1alpha1'];

interface Decoded<V> {
  readonly value: V;
  /** False for an older version, which is to be rewritten. */
  readonly isCurrent: boolean;
}

/** The file name of an image's intent, or of an image reference's record. */
export function recordFileName(key: string): string {
  return `sha256-${createHash('sha256').update(key).digest('hex')}`;
}

/** False for temporary files, which have longer names, and for files of other programs. */
export function isRecordFileName(name: string): boolean {
  return /^sha256-[0-9a-f]{64}$/.test(name);
}

export function recordedCredentials(credential: PullCredential | undefined): RecordedCredentials {
  const source = credential?.source;
  const none = { secrets: [], serviceAccounts: [], nodePodsAccessible: false };
  if (credential === undefined || source === undefined) return { ...none, nodePodsAccessible: true };
  if (source.from === 'service-account') return { ...none, serviceAccounts: [source.at] };
  return { ...none, secrets: [{ ...source.at, credentialHash: credential.hash }] };
}

export function encodeIntent({ image }: PullIntent): string {
  return `{"kind":"ImagePullIntent","apiVersion":"${apiVersion}","image":${goJsonString(image)}}\n`;
}

export function decodeIntent(text: string): Decoded<PullIntent> {
  const { fields, isCurrent } = decode(text, 'ImagePullIntent', ['image']);
  return { value: { image: textField(fields, 'image') }, isCurrent };
}

export function encodePulledRecord(record: PulledRecord): string {
  const time = new Date(record.lastUpdatedMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const mapping = [...record.credentials]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([image, credentials]) => `${goJsonString(image)}:${encodeCredentials(credentials)}`);
  const tail = mapping.length === 0 ? '' : `,"credentialMapping":{${mapping.join(',')}}`;
  return `{"kind":"ImagePulledRecord","apiVersion":"${apiVersion}","lastUpdatedTime":"${time}","imageRef":${goJsonString(record.imageRef)}${tail}}\n`;
}

function encodeCredentials({ secrets, serviceAccounts, nodePodsAccessible }: RecordedCredentials): string {
  const at = ({ uid, namespace, name }: Coordinates): string =>
    `"uid":${goJsonString(uid)},"namespace":${goJsonString(namespace)},"name":${goJsonString(name)}`;
  const ofSecrets = secrets.map(
    (secret) => `{${at(secret)},"credentialHash":${goJsonString(secret.credentialHash)}}`,
  );
  return `{${[
    ...(ofSecrets.length === 0 ? [] : [`"kubernetesSecrets":[${ofSecrets.join(',')}]`]),
    ...(serviceAccounts.length === 0
      ? []
      : [`"kubernetesServiceAccounts":[${serviceAccounts.map((each) => `{${at(each)}}`).join(',')}]`]),
    ...(nodePodsAccessible ? ['"nodePodsAccessible":true'] : []),
  ].join(',')}}`;
}

export function decodePulledRecord(text: string): Decoded<PulledRecord> {
  const { fields, isCurrent } = decode(text, 'ImagePulledRecord', [
    'lastUpdatedTime',
    'imageRef',
    'credentialMapping',
  ]);
  const time = Date.parse(textField(fields, 'lastUpdatedTime'));
  const mapping = record(fields['credentialMapping'] ?? {});
  const value = {
    lastUpdatedMs: Number.isNaN(time) ? 0 : time,
    imageRef: textField(fields, 'imageRef'),
    credentials: new Map(Object.entries(mapping).map(([image, each]) => [image, decodeCredentials(each)])),
  };
  return { value, isCurrent };
}

function decodeCredentials(value: unknown): RecordedCredentials {
  const fields = record(value);
  rejectUnknown(fields, ['kubernetesSecrets', 'kubernetesServiceAccounts', 'nodePodsAccessible']);
  return {
    secrets: list(fields['kubernetesSecrets']).map((each) => ({
      ...coordinates(each, ['credentialHash']),
      credentialHash: textField(each, 'credentialHash'),
    })),
    serviceAccounts: list(fields['kubernetesServiceAccounts']).map((each) => coordinates(each, [])),
    nodePodsAccessible: fields['nodePodsAccessible'] === true,
  };
}

type Fields = Readonly<Record<string, unknown>>;

function decode(
  text: string,
  kind: string,
  names: readonly string[],
): { readonly fields: Fields; readonly isCurrent: boolean } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (err) {
    throw invalid('it is not JSON', err);
  }
  const fields = record(value);
  if (fields['kind'] !== kind || !readVersions.includes(fields['apiVersion']))
    throw invalid(`it is not of kind ${kind} in ${apiVersion}`);
  rejectUnknown(fields, ['kind', 'apiVersion', ...names]);
  return { fields, isCurrent: fields['apiVersion'] === apiVersion };
}

function coordinates(fields: Fields, more: readonly string[]): Coordinates {
  rejectUnknown(fields, ['uid', 'namespace', 'name', ...more]);
  return {
    uid: textField(fields, 'uid'),
    namespace: textField(fields, 'namespace'),
    name: textField(fields, 'name'),
  };
}

function rejectUnknown(fields: Fields, names: readonly string[]): void {
  const other = Object.keys(fields).find((name) => !names.includes(name));
  if (other !== undefined) throw invalid(`unknown field "${other}"`);
}

function record(value: unknown): Fields {
  if (!isObject(value)) throw invalid('a value is not an object');
  return value;
}

function list(value: unknown): readonly Fields[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalid('a value is not a list');
  return value.map(record);
}

function textField(fields: Fields, name: string): string {
  const value = fields[name] ?? '';
  if (typeof value !== 'string') throw invalid(`${name} is not a string`);
  return value;
}

function invalid(why: string, cause?: unknown): KubeletError {
  return new KubeletError('invalid', 'InvalidPullRecord', why, cause === undefined ? {} : { cause });
}
