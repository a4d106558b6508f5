// One credential provider plugin: for which images it runs, with which token, and how long its response is cached.
// Upstream: pluginProvider in pkg/credentialprovider/plugin/plugin.go.
// Invariants: concurrent equal requests share one run; if the plugin fails, the pull continues without its credentials; neither
// responses nor tokens are logged.
import { createHash } from 'node:crypto';
import type { Pod } from '../../api/k8s/types.ts';
import { podRef } from '../../api/pod/pod-ref.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { isAbort, isAbortOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { Secret } from '../../base/log/secret.ts';
import type { DockerConfig } from './docker-config.ts';
import { ExpiringCache } from './expiring-cache.ts';
import type { CredentialSource } from './keyring.ts';
import { decodePluginResponse, encodePluginRequest, type PluginResponse } from './plugin-protocol.ts';
import { type CredentialObjects, type PodToken, podToken, type TokenAttributes } from './plugin-token.ts';
import { registryMatches } from './url-match.ts';

/** An entry of CredentialProviderConfig. */
export interface PluginConfig {
  readonly name: string;
  readonly apiVersion: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheDuration?: { readonly ms: number } | undefined;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly tokenAttributes?: TokenAttributes | undefined;
}

export interface PluginRun {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** For the program's standard input. Must not be logged. */
  readonly input: Secret;
}

interface PluginProviderDeps {
  readonly config: PluginConfig;
  /** Runs the program and resolves with its standard output; rejects without quoting any of it. */
  readonly run: (run: PluginRun, signal: AbortSignal) => Promise<string>;
  readonly objects: CredentialObjects;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observe: (plugin: string, seconds: number, failed: boolean) => void;
}

interface PluginAnswer {
  readonly auth: DockerConfig;
  /** Undefined: the plugin ran without a token, so its credentials are valid for every pod. */
  readonly source: CredentialSource | undefined;
}

/** A plugin may retry by itself; beyond this it counts as hanging. */
const runTimeoutMs = 60_000;
const globalKey = '<global>';

export class PluginProvider {
  readonly #deps: PluginProviderDeps;
  readonly #cache: ExpiringCache<DockerConfig>;
  readonly #running = new Map<string, Promise<PluginResponse>>();

  constructor(deps: PluginProviderDeps) {
    this.#deps = deps;
    this.#cache = new ExpiringCache(deps.clock);
  }

  /** The plugin's credentials for the image; undefined if it has none. Rejects only if the signal is aborted. */
  async provide(image: string, pod: Pod, signal: AbortSignal): Promise<PluginAnswer | undefined> {
    const { config, log } = this.#deps;
    if (!config.matchImages.some((pattern) => registryMatches(pattern, image))) return undefined;
    try {
      return await this.#answer(image, pod, signal);
    } catch (err) {
      if (isAbort(err) || isAbortOf(err, signal)) throw err;
      log.error('Failed to get credentials from credential provider plugin', {
        provider: config.name,
        image,
        pod: podRef(pod),
        err,
      });
      return undefined;
    }
  }

  async #answer(image: string, pod: Pod, signal: AbortSignal): Promise<PluginAnswer | undefined> {
    const { config, objects } = this.#deps;
    const token = await podToken(config.tokenAttributes, objects, pod, signal);
    if (token === 'not-for-this-pod') return undefined;
    const source =
      token === undefined ? undefined : { from: 'service-account' as const, at: token.serviceAccount };
    const cached = this.#cached(image, token);
    if (cached !== undefined) return { auth: cached, source };
    const response = await raceAbort(this.#runShared(image, token), signal);
    this.#store(image, token, response);
    return { auth: response.auth, source };
  }

  #cached(image: string, token: PodToken | undefined): DockerConfig | undefined {
    for (const base of [image, registryOf(image), globalKey]) {
      const found = this.#cache.get(cacheKey(base, token));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #store(image: string, token: PodToken | undefined, response: PluginResponse): void {
    const ttlMs = response.cacheMs ?? this.#deps.config.defaultCacheDuration?.ms ?? 0;
    if (ttlMs <= 0) return;
    const base = { Image: image, Registry: registryOf(image), Global: globalKey }[response.cacheKeyType];
    this.#cache.set(cacheKey(base, token), response.auth, ttlMs);
  }

  #runShared(image: string, token: PodToken | undefined): Promise<PluginResponse> {
    const key = JSON.stringify([image, hashOf(token?.token), token?.annotations ?? {}]);
    const known = this.#running.get(key);
    if (known !== undefined) return known;
    const running = this.#run(image, token).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  async #run(image: string, token: PodToken | undefined): Promise<PluginResponse> {
    const { clock, config, observe, run } = this.#deps;
    const { apiVersion, args, env, name } = config;
    const input = encodePluginRequest(apiVersion, {
      image,
      serviceAccountToken: token?.token,
      serviceAccountAnnotations: token?.annotations,
    });
    const startedMs = clock.monotonic();
    const record = (failed: boolean): void => observe(name, (clock.monotonic() - startedMs) / 1000, failed);
    let output: string;
    try {
      const what = `credential provider plugin ${name} for image ${image}`;
      output = await withDeadline({ clock, ms: runTimeoutMs, what }, (signal) =>
        run({ name, args, env, input: new Secret(input) }, signal),
      );
    } catch (err) {
      record(true);
      throw err;
    }
    record(false);
    const response = decodePluginResponse(apiVersion, output);
    token?.rejectEchoedToken(response);
    return response;
  }
}

/** Host and port, with which the image's name begins. */
function registryOf(image: string): string {
  return image.split('/', 1)[0] ?? '';
}

function cacheKey(base: string, token: PodToken | undefined): string {
  if (token === undefined) return JSON.stringify([base]);
  const { uid, namespace, name } = token.serviceAccount;
  const byToken = token.cacheType === 'Token' ? [hashOf(token.token)] : [];
  return JSON.stringify([
    base,
    namespace,
    name,
    uid,
    Object.entries(token.annotations).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ...byToken,
  ]);
}

function hashOf(token: Secret | undefined): string {
  return token === undefined ? '' : createHash('sha256').update(token.reveal()).digest('hex');
}
