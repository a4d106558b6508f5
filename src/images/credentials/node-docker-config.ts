// The node's own credentials, from Docker configuration files at upstream's paths. Cached for five minutes.
// Upstream: ReadDockerConfigFile and CachingDockerConfigProvider in pkg/credentialprovider.
// Invariant: a missing or invalid file is skipped; nothing of its content is logged.
import { resolve } from 'node:path/posix';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log/log.ts';
import { type DockerConfig, type DockerFormat, parseDockerConfig } from './docker-config.ts';
import { Keyring } from './keyring.ts';

interface NodeDockerConfigDeps {
  /** Undefined if the file does not exist. */
  readonly read: (path: string) => Promise<string | undefined>;
  readonly directories: DockerConfigDirectories;
  readonly clock: Clock;
  readonly log: Logger;
}

interface DockerConfigDirectories {
  readonly rootDir: string;
  readonly workingDirectory: string;
  /** Empty if the kubelet has none. */
  readonly home: string;
}

const lifetimeMs = 5 * 60_000;

export class NodeDockerConfig {
  readonly #deps: NodeDockerConfigDeps;
  #cached: { readonly keyring: Promise<Keyring>; readonly untilMs: number } | undefined;

  constructor(deps: NodeDockerConfigDeps) {
    this.#deps = deps;
  }

  keyring(): Promise<Keyring> {
    const nowMs = this.#deps.clock.monotonic();
    if (this.#cached === undefined || nowMs >= this.#cached.untilMs) {
      this.#cached = { keyring: this.#load(), untilMs: nowMs + lifetimeMs };
    }
    return this.#cached.keyring;
  }

  async #load(): Promise<Keyring> {
    const keyring = new Keyring();
    for (const { path, format } of dockerConfigPaths(this.#deps.directories)) {
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
      log.v(4).info('Read credentials from Docker configuration file', { path });
      return config;
    } catch (err) {
      log.warn('Failed to read Docker configuration file', { path, err });
      return undefined;
    }
  }
}

/** In the order in which they are tried; only the first readable file is used. */
export function dockerConfigPaths({
  rootDir,
  workingDirectory,
  home,
}: DockerConfigDirectories): readonly { readonly path: string; readonly format: DockerFormat }[] {
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
