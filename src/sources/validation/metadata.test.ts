// Object metadata and well-known annotations. Which field is rejected.
import { runCases } from '../../../test/builders/validation-cases.ts';

runCases([
  {
    name: 'metadata',
    base: {},
    cases: [
      ['metadata.name', 'Web', ['metadata.name: Invalid value']],
      ['metadata.name', 'a_b', ['metadata.name: Invalid value']],
      ['metadata.name', 'x'.repeat(250), ['metadata.name: Invalid value']],
      ['metadata.namespace', 'Bad_NS', ['metadata.namespace: Invalid value']],
      ['metadata.namespace', 'a.b', ['metadata.namespace: Invalid value']],
      ['metadata.generateName', 'Bad-', ['metadata.generateName: Invalid value']],
      ['metadata.generateName', 'good-', []],
      ['metadata.generation', -1, ['metadata.generation: Invalid value']],
      ['metadata.labels', { 'bad key': 'v' }, ['metadata.labels: Invalid value']],
      ['metadata.labels', { a: 'bad value!' }, ['metadata.labels: Invalid value']],
      ['metadata.labels', { 'a/b/c': 'v' }, ['metadata.labels: Invalid value']],
      ['metadata.labels', { 'example.com/a': 'v' }, []],
      ['metadata.labels', { a: 'x'.repeat(64) }, ['metadata.labels: Invalid value']],
      ['metadata.annotations', { 'bad key': '' }, ['metadata.annotations: Invalid value']],
      ['metadata.annotations', { 'Example.com/A': 'any text!' }, []],
      ['metadata.annotations', { a: 'x'.repeat(2 ** 18) }, ['metadata.annotations: Too long']],
      [
        'metadata.ownerReferences',
        [{ apiVersion: '', kind: '', name: '', uid: '' }],
        [
          'metadata.ownerReferences.apiVersion: Invalid value',
          'metadata.ownerReferences.kind: Invalid value',
          'metadata.ownerReferences.name: Invalid value',
          'metadata.ownerReferences.uid: Invalid value',
        ],
      ],
      [
        'metadata.ownerReferences',
        [{ apiVersion: 'v1', kind: 'Event', name: 'e', uid: 'u' }],
        ['metadata.ownerReferences: Invalid value'],
      ],
      [
        'metadata.ownerReferences',
        [
          { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u', controller: true },
          { apiVersion: 'apps/v1', kind: 'X', name: 'n', uid: 'u', controller: true },
        ],
        ['metadata.ownerReferences: Invalid value'],
      ],
      [
        'metadata.finalizers',
        ['bad name'],
        ['metadata.finalizers: Invalid value', 'metadata.finalizers[0]: Invalid value'],
      ],
      ['metadata.finalizers', ['nodomain'], ['metadata.finalizers[0]: Invalid value']],
      ['metadata.finalizers', ['orphan', 'foregroundDeletion'], ['metadata.finalizers: Invalid value']],
      ['metadata.finalizers', ['example.com/x'], []],
      [
        'metadata.managedFields',
        [{ operation: 'Nope', fieldsType: 'V2', manager: 'x'.repeat(129), subresource: 'x'.repeat(257) }],
        [
          'metadata.managedFields[0].operation: Invalid value',
          'metadata.managedFields[0].fieldsType: Invalid value',
          'metadata.managedFields[0].manager: Too long',
          'metadata.managedFields[0].subresource: Too long',
        ],
      ],
      [
        'metadata.managedFields',
        [{ operation: 'Apply', manager: 'a\tb' }],
        ['metadata.managedFields[0].manager: Invalid value'],
      ],
    ],
  },
  {
    name: 'annotations that mean something',
    base: {},
    cases: [
      [
        'metadata.annotations',
        { 'scheduler.alpha.kubernetes.io/tolerations': 'x' },
        ['metadata.annotations: Invalid value'],
      ],
      [
        'metadata.annotations',
        { 'scheduler.alpha.kubernetes.io/tolerations': '[{"operator":"Exist"}]' },
        [
          'metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator: Invalid value',
          'metadata.annotations.scheduler.alpha.kubernetes.io/tolerations[0].operator: Unsupported value',
        ],
      ],
      [
        'metadata.annotations',
        { 'controller.kubernetes.io/pod-deletion-cost': '012' },
        ['metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value'],
      ],
      [
        'metadata.annotations',
        { 'controller.kubernetes.io/pod-deletion-cost': '2147483648' },
        ['metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value'],
      ],
      ['metadata.annotations', { 'controller.kubernetes.io/pod-deletion-cost': '-2147483648' }, []],
      [
        'metadata.annotations',
        { 'seccomp.security.alpha.kubernetes.io/pod': 'what' },
        ['metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value'],
      ],
      [
        'metadata.annotations',
        { 'container.seccomp.security.alpha.kubernetes.io/app': 'localhost/../x' },
        ['metadata.annotations.container.seccomp.security.alpha.kubernetes.io/app: Invalid value'],
      ],
      ['metadata.annotations', { 'seccomp.security.alpha.kubernetes.io/pod': 'runtime/default' }, []],
      [
        'metadata.annotations',
        { 'container.apparmor.security.beta.kubernetes.io/nobody': 'unconfined' },
        ['metadata.annotations[container.apparmor.security.beta.kubernetes.io/nobody]: Invalid value'],
      ],
      [
        'metadata.annotations',
        { 'container.apparmor.security.beta.kubernetes.io/app': 'what' },
        ['metadata.annotations[container.apparmor.security.beta.kubernetes.io/app]: Invalid value'],
      ],
    ],
  },
  {
    name: 'annotations beside fields',
    base: {
      metadata: {
        annotations: {
          'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
          'container.seccomp.security.alpha.kubernetes.io/app': 'localhost/x',
          'container.apparmor.security.beta.kubernetes.io/app': 'localhost/x',
        },
      },
    },
    cases: [
      [
        'spec.securityContext',
        { seccompProfile: { type: 'RuntimeDefault' } },
        ['spec.securityContext.seccompProfile.type: Forbidden'],
      ],
      ['spec.securityContext', { seccompProfile: { type: 'Unconfined' } }, []],
      [
        'spec.containers.0.securityContext',
        { seccompProfile: { type: 'Localhost', localhostProfile: 'y' } },
        ['spec.containers[0].securityContext.seccompProfile.localhostProfile: Forbidden'],
      ],
      [
        'spec.containers.0.securityContext',
        { seccompProfile: { type: 'Localhost', localhostProfile: 'x' } },
        [],
      ],
      [
        'spec.containers.0.securityContext',
        { appArmorProfile: { type: 'RuntimeDefault' } },
        ['spec.containers[0].securityContext.appArmorProfile.type: Forbidden'],
      ],
      [
        'spec.securityContext',
        { appArmorProfile: { type: 'Localhost', localhostProfile: 'y' } },
        ['spec.containers[0].securityContext.appArmorProfile.localhostProfile: Forbidden'],
      ],
    ],
  },
]);
