// CredentialProviderConfig kubelet.config.k8s.io/v1 as a table: the programs that know credentials for images.
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
      name: text({ required: true, doc: 'Name of the program in --image-credential-provider-bin-dir.' }),
      matchImages: strings({
        required: true,
        doc: 'Images the program is asked about: a host, with * for a part of its name, and optionally port and path prefix.',
      }),
      defaultCacheDuration: optional(
        duration({ required: true, doc: 'How long an answer is kept that does not say so itself.' }),
      ),
      apiVersion: text({ required: true, doc: 'Version in which the program is spoken to.' }),
      args: strings({ doc: 'Arguments of the program.' }),
      env: objects(
        {
          name: text({ required: true, doc: 'Name of the variable.' }),
          value: text({ required: true, doc: 'Value of the variable.' }),
        },
        { doc: "Variables added to the kubelet's own environment." },
      ),
      tokenAttributes: optional(
        object(
          {
            serviceAccountTokenAudience: text({ required: true, doc: 'Audience of the token.' }),
            cacheType: choice(['ServiceAccount', 'Token'], {
              required: true,
              doc: 'Whether an answer is kept for the service account, or only for the very token.',
            }),
            requireServiceAccount: optional(
              boolean({ required: true, doc: 'Ask the program only for pods with a service account.' }),
            ),
            requiredServiceAccountAnnotationKeys: strings({
              doc: 'Annotations that the service account must have; they are passed on.',
            }),
            optionalServiceAccountAnnotationKeys: strings({
              doc: 'Annotations of the service account that are passed on where present.',
            }),
          },
          {
            gate: 'KubeletServiceAccountTokenForCredentialProviders',
            doc: "Give the program a token of the pod's service account.",
          },
        ),
      ),
    },
    { required: true, doc: 'The programs. Where several match, the answers add up, the earlier first.' },
  ),
};

type CredentialProviderConfig = InferConfig<typeof credentialProviderConfig>;
export type CredentialProvider = CredentialProviderConfig['providers'][number];
