// The node's own credentials: Docker's configuration files where upstream looks for them, read again after five minutes.
// Upstream: ReadDockerConfigFile and CachingDockerConfigProvider in pkg/credentialprovider.
// Invariant: a file that is missing or broken is passed over; nothing of its text is logged.
import { resolve } from 'node:path/posix';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log/log.ts';
import { type DockerConfig, type DockerFormat, parseDockerConfig } from './docker-config.ts';
import { Keyring } from './keyring.ts';

interface NodeDockerConfigDeps {
  /** Undefined when there is no such file. */
  readonly read: (path: string) => Promise<string | undefined>;
  readonly places: DockerConfigPlaces;
  readonly clock: Clock;
  readonly log: Logger;
}

interface DockerConfigPlaces {
  readonly rootDir: string;
  readonly workingDirectory: string;
  /** Empty when the kubelet has none. */
  readonly home: string;
}

const lifetimeMs = 5 * 60_000;

export class NodeDockerConfig {
  readonly #deps: NodeDockerConfigDeps;
  #kept: { readonly keyring: Promise<Keyring>; readonly untilMs: number } | undefined;

  constructor(deps: NodeDockerConfigDeps) {
    this.#deps = deps;
  }

  keyring(): Promise<Keyring> {
    const nowMs = this.#deps.clock.monotonic();
    if (this.#kept === undefined || nowMs >= this.#kept.untilMs) {
      this.#kept = { keyring: this.#load(), untilMs: nowMs + lifetimeMs };
    }
    return this.#kept.keyring;
  }

  async #load(): Promise<Keyring> {
    const keyring = new Keyring();
    for (const { path, format } of dockerConfigPaths(this.#deps.places)) {
      const config = await this.#readOne(path, format);
      if (config === undefined) continue;
      keyring.add(undefined, config);
      break;
    }
    return keyring;
  }

  async #readOne(path: string, format: DockerFormat): Promise<DockerConfig | undefined> {
    const { log, read } = this.#deps;
    try {
      const text = await read(path);
      if (text === undefined) return undefined;
      const config = parseDockerConfig(text, format);
      log.v(4).info('Using the credentials of a Docker configuration file', { path });
      return config;
    } catch (err) {
      log.warn('Docker configuration file cannot be used for image pulls', { path, err });
      return undefined;
    }
  }
}

/** In the order in which they are tried; the first that can be read counts, alone. */
export function dockerConfigPaths({
  rootDir,
  workingDirectory,
  home,
}: DockerConfigPlaces): readonly { readonly path: string; readonly format: DockerFormat }[] {
  const at = (...parts: readonly string[]): string => resolve(workingDirectory, ...parts);
  const inHome = (...parts: readonly string[]): string => (home === '' ? at(...parts) : at(home, ...parts));
  return [
    ...[at(rootDir), at('.'), inHome('.docker'), '/.docker'].map((dir) => ({
      path: resolve(dir, 'config.json'),
      format: 'config.json' as const,
    })),
    ...[at(rootDir), at('.'), inHome(), '/'].map((dir) => ({
      path: resolve(dir, '.dockercfg'),
      format: 'dockercfg' as const,
    })),
  ];
}
