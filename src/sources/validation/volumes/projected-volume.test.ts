// Projected volumes. Which field is rejected.
import { runCases } from '../../../../test/builders/validation-cases.ts';

runCases([
  {
    name: 'projected volumes',
    base: { spec: { serviceAccountName: 'sa' } },
    cases: [
      [
        'spec.volumes',
        [{ name: 'a', projected: { defaultMode: 512, sources: [{ secret: {} }, { configMap: {} }] } }],
        [
          'spec.volumes[0].projected.defaultMode: Invalid value',
          'spec.volumes[0].projected.sources[0].secret.name: Required value',
          'spec.volumes[0].projected.sources[1].configMap.name: Required value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            projected: {
              sources: [
                {
                  secret: { name: 's', items: [{ key: 'k', path: 'p' }] },
                  configMap: { name: 'c', items: [{ key: 'k', path: 'p' }] },
                },
              ],
            },
          },
        ],
        ['spec.volumes[0].projected.sources[0]: Forbidden', 'spec.volumes[0].projected: Invalid value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', projected: { sources: [{ serviceAccountToken: { expirationSeconds: 599 } }] } }],
        [
          'spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value',
          'spec.volumes[0].projected.sources[0].serviceAccountToken.path: Required value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            projected: { sources: [{ serviceAccountToken: { expirationSeconds: 2 ** 33, path: '/x' } }] },
          },
        ],
        [
          'spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value',
          'spec.volumes[0].projected.sources[0].serviceAccountToken.path: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            projected: {
              sources: [{ downwardAPI: { items: [{ path: 'x', fieldRef: { fieldPath: 'status.podIP' } }] } }],
            },
          },
        ],
        ['spec.volumes[0].projected.sources[0].downwardAPI.items[0].fieldRef.fieldPath: Unsupported value'],
      ],
      [
        'spec.volumes',
        [{ name: 'a', projected: { sources: [{ clusterTrustBundle: {} }] } }],
        [
          'spec.volumes[0].projected.sources[0].clusterTrustBundle: Required value',
          'spec.volumes[0].projected.sources[0].clusterTrustBundle.path: Required value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            projected: {
              sources: [
                { clusterTrustBundle: { name: 'A', labelSelector: {}, path: 'p' } },
                { clusterTrustBundle: { name: '', path: 'p' } },
              ],
            },
          },
        ],
        [
          'spec.volumes[0].projected.sources[0].clusterTrustBundle.name: Invalid value',
          'spec.volumes[0].projected.sources[0].clusterTrustBundle.labelSelector: Invalid value',
          'spec.volumes[0].projected.sources[1].clusterTrustBundle.name: Required value',
          'spec.volumes[0].projected.sources[1].clusterTrustBundle.name: Invalid value',
          'spec.volumes[0].projected: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            projected: { sources: [{ clusterTrustBundle: { name: 'a', signerName: 'b', path: '../p' } }] },
          },
        ],
        [
          'spec.volumes[0].projected.sources[0].clusterTrustBundle: Invalid value',
          'spec.volumes[0].projected.sources[0].clusterTrustBundle.path: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            projected: {
              sources: [
                { clusterTrustBundle: { signerName: 'nodomain', path: 'p' } },
                {
                  clusterTrustBundle: {
                    signerName: 'example.com/x',
                    path: 'q',
                    labelSelector: { matchLabels: { a: 'b!' } },
                  },
                },
              ],
            },
          },
        ],
        [
          'spec.volumes[0].projected.sources[0].clusterTrustBundle.signerName: Invalid value',
          'spec.volumes[0].projected.sources[1].clusterTrustBundle.labelSelector.matchLabels: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            projected: { sources: [{ clusterTrustBundle: { name: 'example.com:x:b', path: 'p' } }] },
          },
        ],
        [],
      ],
      [
        'spec.volumes',
        [{ name: 'a', projected: { sources: [{ podCertificate: { signerName: '', keyType: 'DSA' } }] } }],
        [
          'spec.volumes[0].projected.sources[0].podCertificate.signerName: Required value',
          'spec.volumes[0].projected.sources[0].podCertificate.keyType: Unsupported value',
          'spec.volumes[0].projected.sources[0].podCertificate: Required value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            projected: {
              sources: [
                {
                  podCertificate: {
                    signerName: 'host/x',
                    keyType: 'ED25519',
                    keyPath: '/k',
                    maxExpirationSeconds: 1,
                  },
                },
              ],
            },
          },
        ],
        [
          'spec.volumes[0].projected.sources[0].podCertificate.signerName: Invalid value',
          'spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value',
          'spec.volumes[0].projected.sources[0].podCertificate.keyPath: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            projected: {
              sources: [
                {
                  podCertificate: {
                    signerName: 'kubernetes.io/x',
                    keyType: 'ED25519',
                    keyPath: 'k',
                    certificateChainPath: 'k',
                    maxExpirationSeconds: 86401,
                  },
                },
              ],
            },
          },
        ],
        [
          'spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value',
          'spec.volumes[0].projected: Invalid value',
        ],
      ],
      [
        'spec.volumes',
        [
          {
            name: 'a',
            projected: {
              sources: [
                {
                  podCertificate: {
                    signerName: 'B.example.com/a_b',
                    keyType: 'ED25519',
                    credentialBundlePath: 'k',
                    maxExpirationSeconds: 86401,
                  },
                },
              ],
            },
          },
        ],
        ['spec.volumes[0].projected.sources[0].podCertificate.signerName: Invalid value'],
      ],
    ],
  },
  {
    name: 'tokens without an account',
    base: {},
    cases: [
      [
        'spec.volumes',
        [{ name: 'a', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }],
        ['spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden'],
      ],
    ],
  },
]);
