// Every credential that may open an image for a pod, in the order in which to try them: its pull secrets, the node's
// Docker configuration, then the credential provider programs. Upstream: EnsureImageExists in image_manager.go.
import type { Pod } from '../../api/k8s/types.ts';
import { Keyring, type PullCredential } from './keyring.ts';
import type { NodeDockerConfig } from './node-docker-config.ts';
import type { PluginProvider } from './plugin-provider.ts';
import { type PullSecretsDeps, pullSecretNames, pullSecretsKeyring } from './pull-secrets.ts';

interface CredentialFinderDeps {
  readonly secrets: PullSecretsDeps;
  readonly node: Pick<NodeDockerConfig, 'keyring'>;
  readonly plugins: readonly Pick<PluginProvider, 'provide'>[];
}

export class CredentialFinder {
  readonly #deps: CredentialFinderDeps;

  constructor(deps: CredentialFinderDeps) {
    this.#deps = deps;
  }

  /** `repository`: the image's name with its registry, without tag and digest. */
  async find(repository: string, pod: Pod, signal: AbortSignal): Promise<readonly PullCredential[]> {
    const { node, plugins, secrets } = this.#deps;
    const [ofPod, ofNode, answers] = await Promise.all([
      pullSecretsKeyring(secrets, pod, signal),
      node.keyring(),
      Promise.all(plugins.map((plugin) => plugin.provide(repository, pod, signal))),
    ]);
    const ofPlugins = new Keyring();
    for (const answer of answers) if (answer !== undefined) ofPlugins.add(answer.source, answer.auth);
    return [ofPod, ofNode, ofPlugins].flatMap((keyring) => keyring.lookup(repository));
  }

  /** Tells of secrets that are missing although nothing has to be pulled. Never rejects, and nobody waits for it. */
  async checkSecrets(pod: Pod, signal: AbortSignal): Promise<void> {
    if (pullSecretNames(pod).length === 0) return;
    await pullSecretsKeyring(this.#deps.secrets, pod, signal).catch(() => undefined);
  }
}
