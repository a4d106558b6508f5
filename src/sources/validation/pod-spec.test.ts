// A pod's spec as a whole. Which field is rejected.
import { runCases } from '../../../test/builders/validation-cases.ts';

runCases([
  {
    name: 'the spec',
    base: {},
    cases: [
      ['spec.restartPolicy', 'Sometimes', ['spec.restartPolicy: Unsupported value']],
      ['spec.dnsPolicy', 'Best', ['spec.dnsPolicy: Unsupported value']],
      ['spec.activeDeadlineSeconds', 0, ['spec.activeDeadlineSeconds: Invalid value']],
      ['spec.activeDeadlineSeconds', 2 ** 31, ['spec.activeDeadlineSeconds: Invalid value']],
      ['spec.terminationGracePeriodSeconds', -5, []],
      ['spec.hostname', 'a.b', ['spec.hostname: Invalid value']],
      ['spec.subdomain', 'A', ['spec.subdomain: Invalid value']],
      ['spec.nodeSelector', { 'bad key': 'v!' }, ['spec.nodeSelector: Invalid value']],
      ['spec.serviceAccountName', 'Bad', ['spec.serviceAccountName: Invalid value']],
      ['spec.priorityClassName', 'Bad', ['spec.priorityClassName: Invalid value']],
      ['spec.runtimeClassName', '', ['spec.runtimeClassName: Invalid value']],
      ['spec.runtimeClassName', 'Bad', ['spec.runtimeClassName: Invalid value']],
      ['spec.preemptionPolicy', 'Maybe', ['spec.preemptionPolicy: Unsupported value']],
      ['spec.preemptionPolicy', '', ['spec.preemptionPolicy: Required value']],
      ['spec.overhead', { cpu: '-1' }, ['spec.overhead.limits[cpu]: Invalid value']],
      ['spec.overhead', { nope: '1' }, ['spec.overhead.limits[nope]: Invalid value']],
      [
        'spec.readinessGates',
        [{ conditionType: 'a b' }],
        ['spec.readinessGates[0].conditionType: Invalid value'],
      ],
      ['spec.schedulingGates', [{ name: 'a/b' }], ['spec.nodeName: Forbidden']],
      [
        'spec.schedulingGates',
        [{ name: 'a b' }, { name: 'a b' }],
        [
          'spec.schedulingGates[0]: Invalid value',
          'spec.schedulingGates[1]: Invalid value',
          'spec.schedulingGates[1]: Duplicate value',
          'spec.nodeName: Forbidden',
        ],
      ],
      ['spec.imagePullSecrets', [{}], []],
      ['spec.os', {}, ['spec.os.name: Required value']],
      ['spec.os', { name: 'plan9' }, ['spec.os: Unsupported value']],
      ['spec.os', { name: 'linux' }, []],
      ['spec.ephemeralContainers', [{ name: 'debug', image: 'i' }], ['spec.ephemeralContainers: Forbidden']],
      ['spec.hostnameOverride', 'Bad', ['spec.hostnameOverride: Invalid value']],
      ['spec.hostnameOverride', 'x'.repeat(65), ['spec.hostnameOverride: Too long']],
      ['spec.hostnameOverride', 'h', []],
      [
        'spec.hostAliases',
        [{ ip: '1.2.3', hostnames: ['A_B'] }],
        ['spec.hostAliases[0].ip: Invalid value', 'spec.hostAliases[0].hostnames[0]: Invalid value'],
      ],
      ['spec.hostAliases', [{ hostnames: ['a'] }], ['spec.hostAliases[0].ip: Invalid value']],
      [
        'spec.hostAliases',
        [{ ip: '010.1.1.1', hostnames: ['a.b'] }, { ip: '::ffff:1.2.3.4' }, { ip: 'FE80::' }],
        ['spec.hostAliases[0].ip: Invalid value', 'spec.hostAliases[1].ip: Invalid value'],
      ],
      [
        'spec.dnsConfig',
        { nameservers: ['1.1.01.1', '::ffff:1.2.3.4'] },
        ['spec.dnsConfig.nameservers[0]: Invalid value', 'spec.dnsConfig.nameservers[1]: Invalid value'],
      ],
      [
        'spec.hostAliases',
        [
          { ip: '1:2:3:4:5:6:7:8:9' },
          { ip: '::1::' },
          { ip: '1::g' },
          { ip: '1.2.3.4::' },
          { ip: 'fe80::1%eth0' },
        ],
        [
          'spec.hostAliases[0].ip: Invalid value',
          'spec.hostAliases[1].ip: Invalid value',
          'spec.hostAliases[2].ip: Invalid value',
          'spec.hostAliases[3].ip: Invalid value',
          'spec.hostAliases[4].ip: Invalid value',
        ],
      ],
      ['spec.dnsConfig', { nameservers: ['x'] }, ['spec.dnsConfig.nameservers[0]: Invalid value']],
      [
        'spec.dnsConfig',
        { nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] },
        ['spec.dnsConfig.nameservers: Invalid value'],
      ],
      [
        'spec.dnsConfig',
        { searches: ['a b', '.', 'x.', '_tcp.a'] },
        ['spec.dnsConfig.searches[0]: Invalid value'],
      ],
      [
        'spec.dnsConfig',
        { searches: Array.from({ length: 33 }, () => 'a') },
        ['spec.dnsConfig.searches: Invalid value'],
      ],
      [
        'spec.dnsConfig',
        { searches: Array.from({ length: 20 }, () => 'x'.repeat(120)) },
        ['spec.dnsConfig.searches: Invalid value'],
      ],
      ['spec.dnsConfig', { options: [{ value: 'x' }] }, ['spec.dnsConfig.options[0]: Required value']],
      ['spec.dnsConfig', { searches: ['x'.repeat(254)] }, ['spec.dnsConfig.searches[0]: Invalid value']],
    ],
  },
  {
    name: 'no DNS of its own',
    base: { spec: { dnsPolicy: 'None' } },
    cases: [
      ['spec.dnsConfig', undefined, ['spec.dnsConfig: Required value']],
      ['spec.dnsConfig', {}, ['spec.dnsConfig.nameservers: Required value']],
      ['spec.dnsConfig', { nameservers: ['1.1.1.1'] }, []],
    ],
  },
  {
    name: 'namespaces of the host',
    base: { spec: { hostPID: true, hostIPC: true, shareProcessNamespace: true } },
    cases: [
      ['spec.hostUsers', undefined, ['spec.shareProcessNamespace: Invalid value']],
      [
        'spec.hostUsers',
        false,
        ['spec.shareProcessNamespace: Invalid value', 'spec.hostPID: Forbidden', 'spec.hostIPC: Forbidden'],
      ],
      [
        'spec.securityContext',
        {
          sysctls: [
            { name: 'kernel.shmmax', value: '1' },
            { name: 'fs/mqueue/x', value: '1' },
            { name: 'kernel.other', value: '1' },
          ],
        },
        [
          'spec.shareProcessNamespace: Invalid value',
          'spec.securityContext.sysctls[0].name: Invalid value',
          'spec.securityContext.sysctls[1].name: Invalid value',
        ],
      ],
    ],
  },
  {
    name: 'a user namespace',
    base: {
      spec: { hostUsers: false, volumes: [{ name: 'pvc', persistentVolumeClaim: { claimName: 'c' } }] },
    },
    cases: [
      [
        'spec.containers.0.volumeDevices',
        [{ name: 'pvc', devicePath: '/dev/x' }],
        ['spec.containers[0].volumeDevices: Forbidden'],
      ],
      ['spec.containers.0.securityContext', { procMount: 'Unmasked' }, []],
    ],
  },
  {
    name: 'a linux pod',
    base: { spec: { os: { name: 'linux' } } },
    cases: [
      ['spec.securityContext', { windowsOptions: {} }, ['spec.securityContext.windowsOptions: Forbidden']],
      [
        'spec.containers.0.securityContext',
        { windowsOptions: {} },
        ['spec.containers[0].securityContext.windowsOptions: Forbidden'],
      ],
    ],
  },
  {
    name: 'a windows pod',
    base: { spec: { os: { name: 'windows' } } },
    cases: [
      [
        'spec.securityContext',
        {
          runAsUser: 1,
          fsGroup: 1,
          seLinuxOptions: {},
          sysctls: [{ name: 'a', value: '1' }],
          supplementalGroups: [1],
        },
        [
          'spec.securityContext.runAsUser: Forbidden',
          'spec.securityContext.fsGroup: Forbidden',
          'spec.securityContext.seLinuxOptions: Forbidden',
          'spec.securityContext.sysctls: Forbidden',
          'spec.securityContext.supplementalGroups: Forbidden',
        ],
      ],
      [
        'spec.containers.0.securityContext',
        { privileged: true, capabilities: {}, procMount: 'Default', readOnlyRootFilesystem: false },
        [
          'spec.containers[0].securityContext.privileged: Forbidden',
          'spec.containers[0].securityContext.capabilities: Forbidden',
          'spec.containers[0].securityContext.procMount: Forbidden',
          'spec.containers[0].securityContext.readOnlyRootFilesystem: Forbidden',
        ],
      ],
      ['spec.shareProcessNamespace', false, ['spec.shareProcessNamespace: Forbidden']],
      ['spec.hostPID', true, ['spec.hostPID: Forbidden']],
      ['spec.resources', { limits: { cpu: '1' } }, ['spec.resources: Forbidden']],
      [
        'spec.containers.0.lifecycle',
        { stopSignal: 'SIGHUP' },
        ['spec.containers[0].lifecycle.stopSignal: Unsupported value'],
      ],
    ],
  },
  {
    name: 'host processes',
    base: { spec: { hostNetwork: true, securityContext: { windowsOptions: { hostProcess: true } } } },
    cases: [
      ['spec.containers.0.securityContext', undefined, []],
      [
        'spec.containers.0.securityContext',
        { windowsOptions: { hostProcess: false } },
        ['spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value'],
      ],
      ['spec.hostNetwork', false, ['spec.hostNetwork: Invalid value']],
    ],
  },
]);
