// A container's environment. Which field is rejected.
import { runCases } from '../../../../test/builders/validation-cases.ts';

runCases([
  {
    name: 'environment',
    base: {},
    cases: [
      ['spec.containers.0.env', [{ value: 'x' }], ['spec.containers[0].env[0].name: Required value']],
      ['spec.containers.0.env', [{ name: 'a=b' }], ['spec.containers[0].env[0].name: Invalid value']],
      ['spec.containers.0.env', [{ name: 'a.b c' }], []],
      ['spec.containers.0.env', [{ name: 'ü' }], ['spec.containers[0].env[0].name: Invalid value']],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: {} }],
        ['spec.containers[0].env[0].valueFrom: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        ['spec.containers[0].env[0].valueFrom: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [
          {
            name: 'A',
            valueFrom: {
              fieldRef: { fieldPath: 'metadata.name' },
              resourceFieldRef: { resource: 'limits.cpu' },
            },
          },
        ],
        ['spec.containers[0].env[0].valueFrom: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fieldRef: {} } }],
        ['spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Required value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.containers' } } }],
        ['spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.labels' } } }],
        ['spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['a b']" } } }],
        ['spec.containers[0].env[0].valueFrom.fieldRef: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.annotations['Example.com/A']" } } }],
        [],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.name['a']" } } }],
        ['spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } } }],
        ['spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value'],
      ],
      ['spec.containers.0.env', [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.host' } } }], []],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { resourceFieldRef: {} } }],
        ['spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Required value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.disk' } } }],
        ['spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1Ki' } } }],
        ['spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1m' } } }],
        ['spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [
          {
            name: 'A',
            valueFrom: { resourceFieldRef: { resource: 'requests.hugepages-2Mi', divisor: '2' } },
          },
        ],
        ['spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'Bad', key: '' } } }],
        [
          'spec.containers[0].env[0].valueFrom.configMapKeyRef.name: Invalid value',
          'spec.containers[0].env[0].valueFrom.configMapKeyRef.key: Required value',
        ],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { secretKeyRef: { name: 'a', key: 'a b' } } }],
        ['spec.containers[0].env[0].valueFrom.secretKeyRef.key: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: '../x', key: '' } } }],
        [
          'spec.containers[0].env[0].valueFrom.fileKeyRef.key: Required value',
          'spec.containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value',
          'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found',
        ],
      ],
      ['spec.containers.0.envFrom', [{}], ['spec.containers[0].envFrom[0]: Invalid value']],
      [
        'spec.containers.0.envFrom',
        [{ prefix: '=', configMapRef: { name: 'a' } }],
        ['spec.containers[0].envFrom[0].prefix: Invalid value'],
      ],
      [
        'spec.containers.0.envFrom',
        [{ configMapRef: {}, secretRef: { name: 'B' } }],
        [
          'spec.containers[0].envFrom[0].configMapRef.name: Required value',
          'spec.containers[0].envFrom[0].secretRef.name: Invalid value',
          'spec.containers[0].envFrom[0]: Invalid value',
        ],
      ],
    ],
  },
  {
    name: 'variables from files',
    base: { spec: { volumes: [{ name: 'e' }, { name: 'h', hostPath: { path: '/x' } }] } },
    cases: [
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'nope', path: 'x', key: 'k' } } }],
        ['spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'h', path: 'x', key: 'k' } } }],
        ['spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value'],
      ],
      [
        'spec.containers.0.env',
        [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'e', path: 'x', key: 'k' } } }],
        [],
      ],
    ],
  },
]);
