// Security contexts. Which field is rejected.
import { runCases } from '../../../test/builders/validation-cases.ts';

runCases([
  {
    name: 'security',
    base: {},
    cases: [
      [
        'spec.securityContext',
        { runAsUser: -1, runAsGroup: 2 ** 31, fsGroup: -1, supplementalGroups: [1, -1] },
        [
          'spec.securityContext.fsGroup: Invalid value',
          'spec.securityContext.runAsUser: Invalid value',
          'spec.securityContext.runAsGroup: Invalid value',
          'spec.securityContext.supplementalGroups[1]: Invalid value',
        ],
      ],
      [
        'spec.securityContext',
        {
          fsGroupChangePolicy: 'Never',
          supplementalGroupsPolicy: 'Loose',
          seLinuxChangePolicy: 'MountOption',
        },
        [
          'spec.securityContext.fsGroupChangePolicy: Unsupported value',
          'spec.securityContext.supplementalGroupsPolicy: Unsupported value',
          'spec.securityContext.seLinuxChangePolicy: Unsupported value',
        ],
      ],
      [
        'spec.securityContext',
        { seccompProfile: {} },
        ['spec.securityContext.seccompProfile.type: Required value'],
      ],
      [
        'spec.securityContext',
        { seccompProfile: { type: 'Localhost' } },
        ['spec.securityContext.seccompProfile.localhostProfile: Required value'],
      ],
      [
        'spec.securityContext',
        { seccompProfile: { type: 'Localhost', localhostProfile: '/x' } },
        ['spec.securityContext.seccompProfile.localhostProfile: Invalid value'],
      ],
      [
        'spec.securityContext',
        { seccompProfile: { type: 'Unconfined', localhostProfile: 'x' } },
        ['spec.securityContext.seccompProfile.localhostProfile: Invalid value'],
      ],
      [
        'spec.securityContext',
        { appArmorProfile: { type: 'What' } },
        ['spec.securityContext.appArmorProfile.type: Unsupported value'],
      ],
      [
        'spec.securityContext',
        { appArmorProfile: { type: 'Localhost' } },
        ['spec.securityContext.appArmorProfile.localhostProfile: Required value'],
      ],
      [
        'spec.securityContext',
        { appArmorProfile: { type: 'Localhost', localhostProfile: ' x' } },
        ['spec.securityContext.appArmorProfile.localhostProfile: Invalid value'],
      ],
      [
        'spec.securityContext',
        { appArmorProfile: { type: 'RuntimeDefault', localhostProfile: 'x' } },
        ['spec.securityContext.appArmorProfile.localhostProfile: Invalid value'],
      ],
      [
        'spec.securityContext',
        { appArmorProfile: { type: 'Localhost', localhostProfile: 'x'.repeat(4096) } },
        ['spec.securityContext.appArmorProfile.localhostProfile: Too long'],
      ],
      [
        'spec.securityContext',
        {
          sysctls: [
            { name: '', value: '1' },
            { name: 'A', value: '1' },
            { name: 'a', value: '1' },
            { name: 'a', value: '1' },
          ],
        },
        [
          'spec.securityContext.sysctls[0].name: Required value',
          'spec.securityContext.sysctls[1].name: Invalid value',
          'spec.securityContext.sysctls[3].name: Duplicate value',
        ],
      ],
      [
        'spec.containers.0.securityContext',
        { runAsUser: -1, runAsGroup: -1 },
        [
          'spec.containers[0].securityContext.runAsUser: Invalid value',
          'spec.containers[0].securityContext.runAsGroup: Invalid value',
        ],
      ],
      [
        'spec.containers.0.securityContext',
        { procMount: 'Odd' },
        ['spec.containers[0].securityContext.procMount: Unsupported value'],
      ],
      [
        'spec.containers.0.securityContext',
        { procMount: 'Unmasked' },
        ['spec.containers[0].securityContext.procMount: Invalid value'],
      ],
      [
        'spec.containers.0.securityContext',
        { allowPrivilegeEscalation: false, privileged: true },
        ['spec.containers[0].securityContext: Invalid value'],
      ],
      [
        'spec.containers.0.securityContext',
        { allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } },
        ['spec.containers[0].securityContext: Invalid value'],
      ],
      ['spec.containers.0.securityContext', { privileged: true }, []],
      [
        'spec.containers.0.securityContext',
        { seccompProfile: { type: 'What' } },
        ['spec.containers[0].securityContext.seccompProfile.type: Unsupported value'],
      ],
      [
        'spec.containers.0.securityContext',
        { windowsOptions: { gmsaCredentialSpecName: 'Bad', gmsaCredentialSpec: '', runAsUserName: '' } },
        [
          'spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpecName: Invalid value',
          'spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpec: Invalid value',
          'spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value',
        ],
      ],
      [
        'spec.containers.0.securityContext',
        { windowsOptions: { runAsUserName: 'a\\b\\c' } },
        ['spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value'],
      ],
      [
        'spec.containers.0.securityContext',
        { windowsOptions: { runAsUserName: '*\\a:b' } },
        ['spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value'],
      ],
      [
        'spec.containers.0.securityContext',
        { windowsOptions: { runAsUserName: '..' } },
        ['spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value'],
      ],
      [
        'spec.containers.0.securityContext',
        { windowsOptions: { runAsUserName: 'x'.repeat(105) } },
        ['spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value'],
      ],
      [
        'spec.containers.0.securityContext',
        { windowsOptions: { runAsUserName: 'a\u0001' } },
        ['spec.containers[0].securityContext.windowsOptions.runAsUserName: Invalid value'],
      ],
      [
        'spec.containers.0.securityContext',
        { windowsOptions: { hostProcess: true } },
        ['spec.hostNetwork: Invalid value'],
      ],
    ],
  },
]);
