// All credentials to try for a pod's image, in order: its pull secrets, the node's Docker configuration, then the credential
// provider plugins. Upstream: EnsureImageExists in image_manager.go.
import type { Pod } from '../../api/k8s/types.ts';
import { Keyring, type PullCredential } from './keyring.ts';
import type { NodeDockerConfig } from './node-docker-config.ts';
import type { PluginProvider } from './plugin-provider.ts';
import { type PullSecretsDeps, pullSecretsKeyring } from './pull-secrets.ts';

interface CredentialFinderDeps {
  readonly secrets: PullSecretsDeps;
  readonly node: Pick<NodeDockerConfig, 'keyring'>;
  readonly plugins: readonly Pick<PluginProvider, 'provide'>[];
}

export interface FoundCredentials {
  readonly credentials: readonly PullCredential[];
  /** Pull secrets of the pod that could not be fetched. */
  readonly missingSecrets: readonly string[];
}

export class CredentialFinder {
  readonly #deps: CredentialFinderDeps;

  constructor(deps: CredentialFinderDeps) {
    this.#deps = deps;
  }

  /** `repository`: the image's name with registry, without tag and digest. */
  async find(repository: string, pod: Pod, signal: AbortSignal): Promise<FoundCredentials> {
    const { node, plugins, secrets } = this.#deps;
    const [ofPod, ofNode, answers] = await Promise.all([
      pullSecretsKeyring(secrets, pod, signal),
      node.keyring(),
      Promise.all(plugins.map((plugin) => plugin.provide(repository, pod, signal))),
    ]);
    const ofPlugins = new Keyring();
    for (const answer of answers) if (answer !== undefined) ofPlugins.add(answer.source, answer.auth);
    const credentials = [ofPod.keyring, ofNode, ofPlugins].flatMap((keyring) => keyring.lookup(repository));
    return { credentials, missingSecrets: ofPod.missing };
  }
}
