// The environment files of one container (fileKeyRef), each read and parsed once. Upstream: the fileKeyRef part of
// makeEnvironmentVariables in kubelet_pods.go, whose messages these are.
// Invariant: neither the content of a file nor the cause of a failed read appears in an error, which the pod's owner sees.
import type { Container, FileKeySelector } from '../../api/k8s/types.ts';
import type { VolumeFile, VolumeFileRequest } from '../../api/pod/pod-volumes.ts';
import { isAbort, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { type EnvFile, parseEnvFile } from './env-file.ts';

export interface EnvFilesDeps {
  /** Reads a file of one of the pod's volumes. */
  readonly read: (request: VolumeFileRequest) => Promise<VolumeFile>;
  readonly log: Logger;
}

/** differs from upstream, which reads files of any size: the process would parse them for seconds. */
const fileLimitBytes = 256 * 1024;
/** All files of a container together. */
const totalLimitBytes = 1024 * 1024;

interface ReadEnvFile extends EnvFile {
  readonly hostPath: string;
  readonly exists: boolean;
}

export class EnvFiles {
  readonly #deps: EnvFilesDeps;
  /** The wanted keys by file. */
  readonly #keys = new Map<string, string[]>();
  readonly #files = new Map<string, ReadEnvFile>();
  #leftBytes = totalLimitBytes;

  constructor(container: Container, deps: EnvFilesDeps) {
    this.#deps = deps;
    for (const { valueFrom } of container.env ?? []) {
      const ref = valueFrom?.fileKeyRef;
      if (ref === undefined) continue;
      const keys = this.#keys.get(idOf(ref));
      if (keys === undefined) this.#keys.set(idOf(ref), [ref.key]);
      else keys.push(ref.key);
    }
  }

  /** Undefined: the variable is optional and not in the file. */
  async value(ref: FileKeySelector): Promise<Uint8Array | undefined> {
    const { exists, fault, hostPath, values } = await this.#file(ref);
    const isOptional = ref.optional === true;
    // differs from upstream: as the API documents it, an optional variable may lack its file, too.
    if (!exists && isOptional) return undefined;
    const value = values.get(ref.key);
    if (!exists || (value === undefined && fault !== undefined)) {
      this.#deps.log.error('Failed to parse env file', {
        path: hostPath,
        err: fault ?? 'the file does not exist',
      });
      throw invalid("couldn't parse env file");
    }
    // As upstream, an empty value is a missing one.
    if (value !== undefined && value.length > 0) return value;
    if (isOptional) return undefined;
    throw invalid(`environment variable key "${ref.key}" not found in file "${hostPath}"`);
  }

  async #file(ref: FileKeySelector): Promise<ReadEnvFile> {
    const id = idOf(ref);
    const known = this.#files.get(id);
    if (known !== undefined) return known;
    const { path, volumeName: volume } = ref;
    const limitBytes = Math.min(fileLimitBytes, this.#leftBytes);
    const { data, hostPath } = await this.#deps.read({ volume, path, limitBytes }).catch((err: unknown) => {
      if (isAbort(err) || (err instanceof KubeletError && err.reason === 'CreateContainerConfigError'))
        throw err;
      this.#deps.log.error('Failed to read env file', { volume, path, err });
      throw invalid("couldn't parse env file");
    });
    this.#leftBytes -= data?.length ?? 0;
    const file = {
      ...parseEnvFile(data ?? new Uint8Array(), this.#keys.get(id) ?? []),
      hostPath,
      exists: data !== undefined,
    };
    this.#files.set(id, file);
    return file;
  }
}

function idOf({ path, volumeName }: FileKeySelector): string {
  return `${volumeName}/${path}`;
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'CreateContainerConfigError', message);
}
