// CredentialProviderConfig kubelet.config.k8s.io/v1 as a table: plugins that provide image pull credentials.
// Upstream: staging/src/k8s.io/kubelet/config/v1.
import {
  boolean,
  choice,
  duration,
  type InferConfig,
  object,
  objects,
  optional,
  strings,
  text,
} from '../schema.ts';

export const credentialApiVersions = [
  'credentialprovider.kubelet.k8s.io/v1',
  'credentialprovider.kubelet.k8s.io/v1beta1',
  'credentialprovider.kubelet.k8s.io/v1alpha1',
] as const;

export const credentialProviderConfig = {
  providers: objects(
    {
      name: text({ required: true, doc: 'File name of the plugin in --image-credential-provider-bin-dir.' }),
      matchImages: strings({
        required: true,
        doc: 'Images that the plugin provides credentials for: a host, with * for a part of its name, and optionally a port and a path prefix.',
      }),
      defaultCacheDuration: optional(
        duration({ required: true, doc: 'How long a response without a cache duration is cached.' }),
      ),
      apiVersion: text({ required: true, doc: 'API version of requests to the plugin.' }),
      args: strings({ doc: 'Arguments of the plugin.' }),
      env: objects(
        {
          name: text({ required: true, doc: 'Name of the variable.' }),
          value: text({ required: true, doc: 'Value of the variable.' }),
        },
        { doc: "Environment variables, added to the kubelet's own." },
      ),
      tokenAttributes: optional(
        object(
          {
            serviceAccountTokenAudience: text({ required: true, doc: 'Audience of the token.' }),
            cacheType: choice(['ServiceAccount', 'Token'], {
              required: true,
              doc: 'Whether a response is cached per service account or per token.',
            }),
            requireServiceAccount: optional(
              boolean({ required: true, doc: 'Run the plugin only for pods with a service account.' }),
            ),
            requiredServiceAccountAnnotationKeys: strings({
              doc: 'Annotations that the service account must have. They are passed to the plugin.',
            }),
            optionalServiceAccountAnnotationKeys: strings({
              doc: 'Annotations of the service account that are passed to the plugin if present.',
            }),
          },
          {
            gate: 'KubeletServiceAccountTokenForCredentialProviders',
            doc: "Pass a token of the pod's service account to the plugin.",
          },
        ),
      ),
    },
    {
      required: true,
      doc: 'The plugins. If several match an image, their credentials are tried in this order.',
    },
  ),
};

type CredentialProviderConfig = InferConfig<typeof credentialProviderConfig>;
export type CredentialProvider = CredentialProviderConfig['providers'][number];
