// Builds the environment of a container. Upstream: makeEnvironmentVariables in kubelet_pods.go.
// Invariants: env overrides envFrom, and both override the variables of services; `$(VAR)` refers to variables that were set
// before and to those of services; values never appear in an error, because they may be secrets.

import type {
  ConfigMap,
  Container,
  EnvVar,
  EnvVarSource,
  Pod,
  ResourceList,
  Secret,
  Service,
} from '../../api/k8s/types.ts';
import { expandVariables, expansionLimitBytes, expansionTooLarge } from '../../api/pod/expand.ts';
import type { PodObjects } from '../../api/ports/pod-objects.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import { envFieldText, envResourceText, type PodIps } from './env-fields.ts';
import { EnvFiles, type EnvFilesDeps } from './env-files.ts';
import { serviceEnv } from './service-env.ts';

interface EnvInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly addresses: PodIps;
  readonly allocatable: ResourceList;
  /** All services of the cluster. */
  readonly services: readonly Service[];
  readonly files: EnvFilesDeps;
}

/** Values are bytes: the value of a Secret need not be text. */
export type Environment = ReadonlyMap<string, Uint8Array>;

type EnvObjects = Pick<PodObjects, 'configMap' | 'secret'>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export async function containerEnvironment(
  objects: EnvObjects,
  input: EnvInput,
  signal: AbortSignal,
): Promise<Environment> {
  const { container, pod } = input;
  const services = serviceEnv(pod, input.services);
  const lookUp = new ObjectLookup(objects, pod.metadata?.namespace ?? '', signal);
  const envFiles = new EnvFiles(container, input.files);
  const env = new Map<string, Uint8Array>();
  const texts = new Map<string, string>(services);
  let leftBytes = expansionLimitBytes;
  const set = (name: string, value: Uint8Array): void => {
    // Values from objects count, too: an object that is referenced many times is copied as often.
    leftBytes += sizeOf(name, env.get(name)) - sizeOf(name, value);
    if (leftBytes < 0) throw expansionTooLarge();
    env.set(name, value);
    texts.set(name, decoder.decode(value));
  };
  for (const { configMapRef, prefix = '', secretRef } of container.envFrom ?? []) {
    const values =
      configMapRef === undefined
        ? await lookUp.secret(secretRef?.name ?? '', secretRef?.optional)
        : await lookUp.configMap(configMapRef.name ?? '', configMapRef.optional);
    for (const [key, value] of values ?? []) set(`${prefix}${key}`, value);
  }
  for (const variable of container.env ?? []) {
    const value = await valueOf(variable, texts, leftBytes, input, lookUp, envFiles);
    if (value !== undefined) set(variable.name, value);
  }
  for (const [name, value] of services) if (!env.has(name)) env.set(name, encoder.encode(value));
  return env;
}

/** The part of expansionLimitBytes that is left for the command and its arguments. */
export function remainingBytes(env: Environment): number {
  let left = expansionLimitBytes;
  for (const [name, value] of env) left -= sizeOf(name, value);
  return Math.max(0, left);
}

function sizeOf(name: string, value: Uint8Array | undefined): number {
  return value === undefined ? 0 : name.length + value.length;
}

/** The environment as text, for the expansion of `$(VAR)`. */
export function environmentTexts(env: Environment): Map<string, string> {
  return new Map([...env].map(([name, value]) => [name, decoder.decode(value)]));
}

/** Undefined: the source is optional and missing. */
async function valueOf(
  { value = '', valueFrom }: EnvVar,
  texts: ReadonlyMap<string, string>,
  leftBytes: number,
  input: EnvInput,
  lookUp: ObjectLookup,
  envFiles: EnvFiles,
): Promise<Uint8Array | undefined> {
  if (value !== '') return encoder.encode(expandVariables(value, texts, leftBytes));
  if (valueFrom === undefined) return new Uint8Array();
  return await sourceValue(valueFrom, input, lookUp, envFiles);
}

async function sourceValue(
  source: EnvVarSource,
  { addresses, allocatable, container, pod }: EnvInput,
  lookUp: ObjectLookup,
  envFiles: EnvFiles,
): Promise<Uint8Array | undefined> {
  const { configMapKeyRef, fieldRef, fileKeyRef, resourceFieldRef, secretKeyRef } = source;
  if (fieldRef !== undefined) return encoder.encode(envFieldText(fieldRef, pod, addresses));
  if (resourceFieldRef !== undefined)
    return encoder.encode(envResourceText(resourceFieldRef, pod, container, allocatable));
  if (configMapKeyRef !== undefined) {
    const { key, name = '', optional } = configMapKeyRef;
    return pick(await lookUp.configMap(name, optional), key, optional, `ConfigMap ${lookUp.ref(name)}`);
  }
  if (secretKeyRef !== undefined) {
    const { key, name = '', optional } = secretKeyRef;
    return pick(await lookUp.secret(name, optional), key, optional, `Secret ${lookUp.ref(name)}`);
  }
  if (fileKeyRef !== undefined) return await envFiles.value(fileKeyRef);
  return new Uint8Array();
}

function pick(
  values: ReadonlyMap<string, Uint8Array> | undefined,
  key: string,
  optional: boolean | undefined,
  where: string,
): Uint8Array | undefined {
  if (values === undefined) return undefined;
  const value = values.get(key);
  if (value === undefined && optional !== true) throw invalid(`couldn't find key ${key} in ${where}`);
  return value;
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'CreateContainerConfigError', message);
}

/** The ConfigMaps and Secrets of the pod's namespace, each read once per container. */
class ObjectLookup {
  readonly #objects: EnvObjects;
  readonly #namespace: string;
  readonly #signal: AbortSignal;
  readonly #values = new Map<string, ReadonlyMap<string, Uint8Array>>();

  constructor(objects: EnvObjects, namespace: string, signal: AbortSignal) {
    this.#objects = objects;
    this.#namespace = namespace;
    this.#signal = signal;
  }

  ref(name: string): string {
    return `${this.#namespace}/${name}`;
  }

  async configMap(
    name: string,
    optional: boolean | undefined,
  ): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
    return await this.#get(`ConfigMap ${name}`, optional, async () =>
      configMapValues(await this.#objects.configMap(this.#namespace, name, this.#signal)),
    );
  }

  async secret(
    name: string,
    optional: boolean | undefined,
  ): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
    return await this.#get(`Secret ${name}`, optional, async () =>
      secretValues(await this.#objects.secret(this.#namespace, name, this.#signal)),
    );
  }

  async #get(
    key: string,
    optional: boolean | undefined,
    read: () => Promise<ReadonlyMap<string, Uint8Array>>,
  ): Promise<ReadonlyMap<string, Uint8Array> | undefined> {
    const cached = this.#values.get(key);
    if (cached !== undefined) return cached;
    try {
      const values = await read();
      this.#values.set(key, values);
      return values;
    } catch (err) {
      if (optional === true && isKind(err, 'not-found')) return undefined;
      throw err;
    }
  }
}

/** Only `data`: binaryData is for volumes. Sorted by key, so that the same ConfigMap gives the same request. */
function configMapValues({ data = {} }: ConfigMap): ReadonlyMap<string, Uint8Array> {
  return new Map(sorted(data).map(([key, value]) => [key, encoder.encode(value)]));
}

function secretValues({ data = {} }: Secret): ReadonlyMap<string, Uint8Array> {
  return new Map(sorted(data).map(([key, value]) => [key, new Uint8Array(Buffer.from(value, 'base64'))]));
}

function sorted(data: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
