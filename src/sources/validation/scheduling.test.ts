// Scheduling constraints. Which field is rejected.
import { runCases } from '../../../test/builders/validation-cases.ts';

runCases([
  {
    name: 'tolerations',
    base: {},
    cases: [
      [
        'spec.tolerations',
        [{ key: 'bad key', operator: 'Exists' }],
        ['spec.tolerations[0].key: Invalid value'],
      ],
      ['spec.tolerations', [{ operator: 'Equal' }], ['spec.tolerations[0].operator: Invalid value']],
      [
        'spec.tolerations',
        [{ key: 'a', operator: 'Like' }],
        ['spec.tolerations[0].operator: Unsupported value'],
      ],
      [
        'spec.tolerations',
        [{ key: 'a', operator: 'Exists', value: 'b' }],
        ['spec.tolerations[0].operator: Invalid value'],
      ],
      [
        'spec.tolerations',
        [{ key: 'a', value: 'bad value!' }],
        ['spec.tolerations[0].operator: Invalid value'],
      ],
      [
        'spec.tolerations',
        [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }],
        ['spec.tolerations[0].effect: Invalid value'],
      ],
      [
        'spec.tolerations',
        [{ key: 'a', effect: 'Never' }],
        ['spec.tolerations[0].effect: Unsupported value'],
      ],
      [
        'spec.tolerations',
        [{ operator: 'Exists' }, { key: 'a', effect: 'NoExecute', tolerationSeconds: 1 }],
        [],
      ],
    ],
  },
  {
    name: 'affinity',
    base: {},
    cases: [
      [
        'spec.affinity',
        { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } },
        [
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value',
        ],
      ],
      [
        'spec.affinity',
        {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                {
                  matchExpressions: [
                    { key: 'a b', operator: 'In' },
                    { key: 'a', operator: 'Exists', values: ['b'] },
                    { key: 'a', operator: 'Gt', values: [] },
                    { key: 'a', operator: 'Like' },
                    { key: 'a', operator: 'In', values: ['b!'] },
                  ],
                },
              ],
            },
          },
        },
        [
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value',
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: Invalid value',
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: Forbidden',
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[2].values: Required value',
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].operator: Invalid value',
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[4].values[0]: Invalid value',
        ],
      ],
      [
        'spec.affinity',
        {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                {
                  matchFields: [
                    { key: 'metadata.uid', operator: 'Exists' },
                    { key: 'metadata.name', operator: 'In', values: ['A', 'b'] },
                  ],
                },
              ],
            },
          },
        },
        [
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].operator: Invalid value',
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key: Invalid value',
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1].values: Required value',
          'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1].values[0]: Invalid value',
        ],
      ],
      [
        'spec.affinity',
        {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 0, preference: {} },
              { weight: 1, preference: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b!'] }] } },
            ],
          },
        },
        [
          'spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value',
        ],
      ],
      [
        'spec.affinity',
        { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{}] } },
        [
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value',
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value',
        ],
      ],
      [
        'spec.affinity',
        {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 101, podAffinityTerm: { topologyKey: 'a b', namespaces: ['A'] } },
            ],
          },
        },
        [
          'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value',
          'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespaces[0]: Invalid value',
          'spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value',
        ],
      ],
      [
        'spec.affinity',
        {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: 'z',
                labelSelector: {
                  matchLabels: { a: 'b!' },
                  matchExpressions: [
                    { key: 'a', operator: 'In' },
                    { key: 'b', operator: 'Gt' },
                  ],
                },
                namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['x'] }] },
              },
            ],
          },
        },
        [
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels: Invalid value',
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].values: Required value',
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[1].operator: Invalid value',
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector.matchExpressions[0].values: Forbidden',
        ],
      ],
      [
        'spec.affinity',
        {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'z', matchLabelKeys: ['a'] },
              { topologyKey: 'z', labelSelector: {}, matchLabelKeys: ['a', 'b b'], mismatchLabelKeys: ['a'] },
            ],
          },
        },
        [
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden',
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].matchLabelKeys[1]: Invalid value',
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].matchLabelKeys[0]: Invalid value',
        ],
      ],
      [
        'spec.affinity',
        {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: 'z',
                labelSelector: {
                  matchLabels: { a: 'b' },
                  matchExpressions: [{ key: 'a', operator: 'Exists' }],
                },
                matchLabelKeys: ['a'],
              },
            ],
          },
        },
        [
          'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]: Invalid value',
        ],
      ],
    ],
  },
  {
    name: 'topology',
    base: {},
    cases: [
      [
        'spec.topologySpreadConstraints',
        [{}],
        [
          'spec.topologySpreadConstraints[0].maxSkew: Invalid value',
          'spec.topologySpreadConstraints[0].topologyKey: Required value',
          'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value',
        ],
      ],
      [
        'spec.topologySpreadConstraints',
        [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway', minDomains: 0 }],
        ['spec.topologySpreadConstraints[0].minDomains: Invalid value'],
      ],
      [
        'spec.topologySpreadConstraints',
        [
          { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' },
          { maxSkew: 2, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' },
        ],
        ['spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value'],
      ],
      [
        'spec.topologySpreadConstraints',
        [
          {
            maxSkew: 1,
            topologyKey: 'z',
            whenUnsatisfiable: 'DoNotSchedule',
            nodeAffinityPolicy: 'Maybe',
            nodeTaintsPolicy: 'Honor',
            matchLabelKeys: ['a'],
          },
        ],
        [
          'spec.topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value',
          'spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden',
        ],
      ],
    ],
  },
]);
