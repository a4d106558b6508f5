// All credential provider plugins of CredentialProviderConfig. Upstream: RegisterCredentialProviderPlugins in
// pkg/credentialprovider/plugin/plugin.go.
// Invariant: a plugin whose program cannot be executed keeps the kubelet from starting, before a pod misses its credentials.
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import type { Logger } from '../../base/log/log.ts';
import { type PluginConfig, PluginProvider, type PluginRun } from './plugin-provider.ts';
import type { CredentialObjects } from './plugin-token.ts';

/** The programs of --image-credential-provider-bin-dir. */
export interface PluginPrograms {
  /** Rejects unless every program can be executed. */
  check(names: readonly string[]): Promise<void>;
  /** Resolves with the program's standard output. */
  run(program: PluginRun, signal: AbortSignal): Promise<string>;
}

/** CredentialProviderConfig; undefined if there is none. */
type PluginConfiguration =
  | {
      readonly providers: readonly PluginConfig[];
      /** Over all configuration files. */
      readonly hash: string;
    }
  | undefined;

interface PluginProvidersDeps {
  readonly configuration: PluginConfiguration;
  /** The gate KubeletServiceAccountTokenForCredentialProviders; without it, plugins get no token. */
  readonly allowTokens: boolean;
  readonly programs: PluginPrograms;
  readonly objects: CredentialObjects;
  readonly metrics: {
    setPluginConfig(hash: string): void;
    observePlugin(plugin: string, seconds: number, failed: boolean): void;
  };
  readonly clock: Clock;
  readonly log: Logger;
}

export function pluginProviders(deps: PluginProvidersDeps): readonly PluginProvider[] {
  const { allowTokens, clock, configuration, log, metrics, objects, programs } = deps;
  if (configuration === undefined) return [];
  metrics.setPluginConfig(configuration.hash);
  return configuration.providers.map(
    (config) =>
      new PluginProvider({
        config: { ...config, tokenAttributes: allowTokens ? config.tokenAttributes : undefined },
        run: (program, signal) => programs.run(program, signal),
        objects,
        clock,
        log,
        observe: (...args) => metrics.observePlugin(...args),
      }),
  );
}

/** Fails its start if a plugin's program cannot be executed; none if no plugin is configured. */
export function programChecks(
  programs: Pick<PluginPrograms, 'check'>,
  configuration: PluginConfiguration,
): readonly Component[] {
  const names = configuration?.providers.map(({ name }) => name) ?? [];
  if (names.length === 0) return [];
  return [
    {
      name: 'credential-providers',
      async start(signal) {
        await programs.check(names);
        return { stopped: untilAborted(signal) };
      },
    },
  ];
}
