// Containers, their ports, mounts, probes and hooks. Which field is rejected.
import { runCases } from '../../../../test/builders/validation-cases.ts';

runCases([
  {
    name: 'containers',
    base: {},
    cases: [
      ['spec.containers', [], ['spec.containers: Required value']],
      [
        'spec.containers',
        [
          { name: 'a', image: 'i' },
          { name: 'a', image: 'i' },
        ],
        ['spec.containers[1].name: Duplicate value'],
      ],
      ['spec.containers.0.name', '', ['spec.containers[0].name: Required value']],
      ['spec.containers.0.name', 'A', ['spec.containers[0].name: Invalid value']],
      ['spec.containers.0.name', 'a.b', ['spec.containers[0].name: Invalid value']],
      ['spec.containers.0.name', 'x'.repeat(64), ['spec.containers[0].name: Invalid value']],
      ['spec.containers.0.image', '', ['spec.containers[0].image: Required value']],
      ['spec.containers.0.image', ' i ', ['spec.containers[0].image: Invalid value']],
      [
        'spec.containers.0.imagePullPolicy',
        'Often',
        ['spec.containers[0].imagePullPolicy: Unsupported value'],
      ],
      [
        'spec.containers.0.terminationMessagePolicy',
        'Loud',
        ['spec.containers[0].terminationMessagePolicy: Unsupported value'],
      ],
      [
        'spec.containers.0.restartPolicy',
        'Sometimes',
        ['spec.containers[0].restartPolicy: Unsupported value'],
      ],
      [
        'spec.initContainers',
        [{ name: 'app', image: 'i' }],
        ['spec.initContainers[0].name: Duplicate value'],
      ],
      [
        'spec.initContainers',
        [
          {
            name: 'init',
            image: 'i',
            livenessProbe: { exec: { command: ['x'] } },
            readinessProbe: {},
            startupProbe: {},
            lifecycle: {},
          },
        ],
        [
          'spec.initContainers[0].lifecycle: Forbidden',
          'spec.initContainers[0].livenessProbe: Forbidden',
          'spec.initContainers[0].readinessProbe: Forbidden',
          'spec.initContainers[0].startupProbe: Forbidden',
        ],
      ],
      [
        'spec.initContainers',
        [{ name: 'init', image: 'i', restartPolicy: 'Sometimes' }],
        ['spec.initContainers[0].restartPolicy: Unsupported value'],
      ],
      [
        'spec.initContainers',
        [{ name: 'side', image: 'i', restartPolicy: 'Always', startupProbe: { exec: {} } }],
        ['spec.initContainers[0].startupProbe.exec.command: Required value'],
      ],
      [
        'spec.initContainers',
        [
          {
            name: 'side',
            image: 'i',
            restartPolicy: 'Always',
            lifecycle: { preStop: { exec: { command: ['x'] } } },
          },
        ],
        [],
      ],
      [
        'spec.initContainers',
        [
          {
            name: 'init',
            image: 'i',
            ports: [
              { containerPort: 1, hostPort: 1 },
              { containerPort: 2, hostPort: 1 },
            ],
          },
        ],
        ['spec.initContainers[0].ports[1].hostPort: Duplicate value'],
      ],
      [
        'spec.containers.0.resizePolicy',
        [
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
          { resourceName: 'cpu', restartPolicy: 'RestartContainer' },
        ],
        ['spec.containers[0].resizePolicy[1]: Duplicate value'],
      ],
      [
        'spec.containers.0.resizePolicy',
        [{ resourceName: 'disk', restartPolicy: 'Later' }],
        [
          'spec.containers[0].resizePolicy[0].resourceName: Unsupported value',
          'spec.containers[0].resizePolicy[0].restartPolicy: Unsupported value',
        ],
      ],
      [
        'spec.containers.0.resizePolicy',
        [{}],
        [
          'spec.containers[0].resizePolicy[0].resourceName: Required value',
          'spec.containers[0].resizePolicy[0].restartPolicy: Required value',
        ],
      ],
    ],
  },
  {
    name: 'containers of a pod that never restarts',
    base: { spec: { restartPolicy: 'Never' } },
    cases: [
      [
        'spec.containers.0.resizePolicy',
        [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }],
        ['spec.containers[0].resizePolicy[0].restartPolicy: Invalid value'],
      ],
    ],
  },
  {
    name: 'ephemeral containers',
    base: { spec: { volumes: [{ name: 'v' }], ephemeralContainers: [{ name: 'debug', image: 'i' }] } },
    cases: [
      [
        'spec.ephemeralContainers.0.name',
        'app',
        ['spec.ephemeralContainers[0].name: Duplicate value', 'spec.ephemeralContainers: Forbidden'],
      ],
      [
        'spec.ephemeralContainers.0.targetContainerName',
        'nobody',
        ['spec.ephemeralContainers[0].targetContainerName: Not found', 'spec.ephemeralContainers: Forbidden'],
      ],
      ['spec.ephemeralContainers.0.targetContainerName', 'app', ['spec.ephemeralContainers: Forbidden']],
      [
        'spec.ephemeralContainers.0.ports',
        [{ containerPort: 1 }],
        ['spec.ephemeralContainers[0].ports: Forbidden', 'spec.ephemeralContainers: Forbidden'],
      ],
      [
        'spec.ephemeralContainers.0.resources',
        { limits: { cpu: '1' } },
        ['spec.ephemeralContainers[0].resources: Forbidden', 'spec.ephemeralContainers: Forbidden'],
      ],
      [
        'spec.ephemeralContainers.0.livenessProbe',
        { exec: { command: ['x'] } },
        ['spec.ephemeralContainers[0].livenessProbe: Forbidden', 'spec.ephemeralContainers: Forbidden'],
      ],
      [
        'spec.ephemeralContainers.0.volumeMounts',
        [{ name: 'v', mountPath: '/v', subPath: 'a' }],
        [
          'spec.ephemeralContainers[0].volumeMounts[0].subPath: Forbidden',
          'spec.ephemeralContainers: Forbidden',
        ],
      ],
    ],
  },
  {
    name: 'ports',
    base: {},
    cases: [
      ['spec.containers.0.ports', [{}], ['spec.containers[0].ports[0].containerPort: Required value']],
      [
        'spec.containers.0.ports',
        [{ containerPort: 65536 }],
        ['spec.containers[0].ports[0].containerPort: Invalid value'],
      ],
      [
        'spec.containers.0.ports',
        [{ containerPort: 1, hostPort: -1 }],
        ['spec.containers[0].ports[0].hostPort: Invalid value'],
      ],
      [
        'spec.containers.0.ports',
        [{ containerPort: 1, protocol: 'ICMP' }],
        ['spec.containers[0].ports[0].protocol: Unsupported value'],
      ],
      [
        'spec.containers.0.ports',
        [{ name: 'Http', containerPort: 1 }],
        ['spec.containers[0].ports[0].name: Invalid value'],
      ],
      [
        'spec.containers.0.ports',
        [{ name: 'x'.repeat(16), containerPort: 1 }],
        ['spec.containers[0].ports[0].name: Invalid value'],
      ],
      [
        'spec.containers.0.ports',
        [{ name: '123', containerPort: 1 }],
        ['spec.containers[0].ports[0].name: Invalid value'],
      ],
      [
        'spec.containers.0.ports',
        [
          { name: 'a', containerPort: 1 },
          { name: 'a', containerPort: 2 },
        ],
        ['spec.containers[0].ports[1].name: Duplicate value'],
      ],
      [
        'spec.containers.0.ports',
        [
          { containerPort: 1, hostPort: 9 },
          { containerPort: 2, hostPort: 9 },
        ],
        ['spec.containers[0].ports[1].hostPort: Duplicate value'],
      ],
      [
        'spec.containers.0.ports',
        [
          { containerPort: 1, hostPort: 9 },
          { containerPort: 2, hostPort: 9, protocol: 'UDP' },
        ],
        [],
      ],
      [
        'spec.containers.0.ports',
        [
          { containerPort: 1, hostPort: 9, hostIP: '1.1.1.1' },
          { containerPort: 2, hostPort: 9 },
        ],
        [],
      ],
    ],
  },
  {
    name: 'ports on the host’s network',
    base: { spec: { hostNetwork: true } },
    cases: [
      [
        'spec.containers.0.ports',
        [{ containerPort: 1, hostPort: 2 }],
        ['spec.containers[0].ports[0].hostPort: Invalid value'],
      ],
      ['spec.containers.0.ports', [{ containerPort: 1 }], []],
      ['spec.hostnameOverride', 'h', ['spec.hostnameOverride: Forbidden']],
      [
        'spec.securityContext',
        { sysctls: [{ name: 'net.core.somaxconn', value: '1' }] },
        ['spec.securityContext.sysctls[0].name: Invalid value'],
      ],
      ['spec.hostUsers', false, ['spec.hostNetwork: Forbidden']],
    ],
  },
  {
    name: 'mounts',
    base: {
      spec: {
        volumes: [{ name: 'v' }, { name: 'w' }, { name: 'pvc', persistentVolumeClaim: { claimName: 'c' } }],
      },
    },
    cases: [
      [
        'spec.containers.0.volumeMounts',
        [{ name: 'x', mountPath: '/x' }],
        ['spec.containers[0].volumeMounts[0].name: Not found'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [{ name: 'v' }],
        ['spec.containers[0].volumeMounts[0].mountPath: Required value'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [{ mountPath: '/x' }],
        [
          'spec.containers[0].volumeMounts[0].name: Required value',
          'spec.containers[0].volumeMounts[0].name: Not found',
        ],
      ],
      [
        'spec.containers.0.volumeMounts',
        [
          { name: 'v', mountPath: '/x' },
          { name: 'w', mountPath: '/x' },
        ],
        ['spec.containers[0].volumeMounts[1].mountPath: Invalid value'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [{ name: 'v', mountPath: '/x', subPath: '/a' }],
        ['spec.containers[0].volumeMounts[0].subPath: Invalid value'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [{ name: 'v', mountPath: '/x', subPath: 'a/../b' }],
        ['spec.containers[0].volumeMounts[0].subPath: Invalid value'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [{ name: 'v', mountPath: '/x', subPath: 'a', subPathExpr: '$(A)' }],
        ['spec.containers[0].volumeMounts[0].subPathExpr: Invalid value'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [{ name: 'v', mountPath: '/x', subPathExpr: '/$(A)' }],
        ['spec.containers[0].volumeMounts[0].subPathExpr: Invalid value'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [{ name: 'v', mountPath: '/x', mountPropagation: 'Bidirectional' }],
        ['spec.containers[0].volumeMounts[0].mountPropagation: Forbidden'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [{ name: 'v', mountPath: '/x', mountPropagation: 'Both' }],
        ['spec.containers[0].volumeMounts[0].mountPropagation: Unsupported value'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [{ name: 'v', mountPath: '/x', recursiveReadOnly: 'Enabled' }],
        ['spec.containers[0].volumeMounts[0].recursiveReadOnly: Forbidden'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [
          {
            name: 'v',
            mountPath: '/x',
            readOnly: true,
            recursiveReadOnly: 'IfPossible',
            mountPropagation: 'HostToContainer',
          },
        ],
        ['spec.containers[0].volumeMounts[0].recursiveReadOnly: Forbidden'],
      ],
      [
        'spec.containers.0.volumeMounts',
        [{ name: 'v', mountPath: '/x', recursiveReadOnly: 'Yes' }],
        ['spec.containers[0].volumeMounts[0].recursiveReadOnly: Unsupported value'],
      ],
      [
        'spec.containers.0.volumeDevices',
        [{ name: 'v', devicePath: '/dev/x' }],
        ['spec.containers[0].volumeDevices[0].name: Invalid value'],
      ],
      [
        'spec.containers.0.volumeDevices',
        [{}],
        [
          'spec.containers[0].volumeDevices[0].name: Required value',
          'spec.containers[0].volumeDevices[0].name: Not found',
          'spec.containers[0].volumeDevices[0].devicePath: Required value',
        ],
      ],
      [
        'spec.containers.0.volumeDevices',
        [{ name: 'pvc', devicePath: '/dev/../x' }],
        ['spec.containers[0].volumeDevices[0].devicePath: Invalid value'],
      ],
      [
        'spec.containers.0.volumeDevices',
        [
          { name: 'pvc', devicePath: '/dev/x' },
          { name: 'pvc', devicePath: '/dev/x' },
        ],
        [
          'spec.containers[0].volumeDevices[1].name: Invalid value',
          'spec.containers[0].volumeDevices[1].devicePath: Invalid value',
        ],
      ],
      ['spec.containers.0.volumeDevices', [{ name: 'pvc', devicePath: '/dev/x' }], []],
      [
        'spec.containers.0',
        {
          name: 'app',
          image: 'i',
          volumeMounts: [{ name: 'pvc', mountPath: '/x' }],
          volumeDevices: [{ name: 'pvc', devicePath: '/x' }],
        },
        [
          'spec.containers[0].volumeMounts[0].name: Invalid value',
          'spec.containers[0].volumeMounts[0].mountPath: Invalid value',
          'spec.containers[0].volumeDevices[0].name: Invalid value',
          'spec.containers[0].volumeDevices[0].devicePath: Invalid value',
        ],
      ],
    ],
  },
  {
    name: 'probes and hooks',
    base: { spec: { os: { name: 'linux' }, terminationGracePeriodSeconds: 10 } },
    cases: [
      ['spec.containers.0.livenessProbe', {}, ['spec.containers[0].livenessProbe: Required value']],
      [
        'spec.containers.0.livenessProbe',
        { exec: {} },
        ['spec.containers[0].livenessProbe.exec.command: Required value'],
      ],
      [
        'spec.containers.0.livenessProbe',
        { exec: { command: ['x'] }, tcpSocket: { port: 1 } },
        ['spec.containers[0].livenessProbe.tcpSocket: Forbidden'],
      ],
      [
        'spec.containers.0.livenessProbe',
        { httpGet: { port: 0 } },
        ['spec.containers[0].livenessProbe.httpGet.port: Invalid value'],
      ],
      [
        'spec.containers.0.livenessProbe',
        { httpGet: { port: 'Http' } },
        ['spec.containers[0].livenessProbe.httpGet.port: Invalid value'],
      ],
      [
        'spec.containers.0.livenessProbe',
        { httpGet: { port: 80, scheme: 'FTP' } },
        ['spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value'],
      ],
      [
        'spec.containers.0.livenessProbe',
        { httpGet: { port: 80, httpHeaders: [{ name: 'a b', value: 'c' }] } },
        ['spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value'],
      ],
      [
        'spec.containers.0.livenessProbe',
        { grpc: { port: 70000 } },
        ['spec.containers[0].livenessProbe.grpc.port: Invalid value'],
      ],
      [
        'spec.containers.0.livenessProbe',
        { tcpSocket: { port: 80 }, successThreshold: 2 },
        ['spec.containers[0].livenessProbe.successThreshold: Invalid value'],
      ],
      [
        'spec.containers.0.startupProbe',
        { tcpSocket: { port: 80 }, successThreshold: 2 },
        ['spec.containers[0].startupProbe.successThreshold: Invalid value'],
      ],
      ['spec.containers.0.readinessProbe', { tcpSocket: { port: 80 }, successThreshold: 2 }, []],
      [
        'spec.containers.0.readinessProbe',
        { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 1 },
        ['spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value'],
      ],
      [
        'spec.containers.0.livenessProbe',
        { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 0 },
        ['spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value'],
      ],
      [
        'spec.containers.0.readinessProbe',
        {
          tcpSocket: { port: 80 },
          initialDelaySeconds: -1,
          timeoutSeconds: -1,
          periodSeconds: -1,
          successThreshold: -1,
          failureThreshold: -1,
        },
        [
          'spec.containers[0].readinessProbe.initialDelaySeconds: Invalid value',
          'spec.containers[0].readinessProbe.timeoutSeconds: Invalid value',
          'spec.containers[0].readinessProbe.periodSeconds: Invalid value',
          'spec.containers[0].readinessProbe.successThreshold: Invalid value',
          'spec.containers[0].readinessProbe.failureThreshold: Invalid value',
        ],
      ],
      [
        'spec.containers.0.lifecycle',
        { postStart: {} },
        ['spec.containers[0].lifecycle.postStart: Required value'],
      ],
      [
        'spec.containers.0.lifecycle',
        { preStop: { sleep: { seconds: 11 } } },
        ['spec.containers[0].lifecycle.preStop.sleep: Invalid value'],
      ],
      ['spec.containers.0.lifecycle', { preStop: { sleep: { seconds: 0 } } }, []],
      [
        'spec.containers.0.lifecycle',
        { preStop: { sleep: { seconds: -1 } } },
        ['spec.containers[0].lifecycle.preStop.sleep: Invalid value'],
      ],
      [
        'spec.containers.0.lifecycle',
        { stopSignal: 'SIGNOPE' },
        ['spec.containers[0].lifecycle.stopSignal: Unsupported value'],
      ],
      ['spec.containers.0.lifecycle', { stopSignal: 'SIGRTMIN+15' }, []],
      [
        'spec.containers.0.lifecycle',
        { stopSignal: 'SIGRTMAX-15' },
        ['spec.containers[0].lifecycle.stopSignal: Unsupported value'],
      ],
    ],
  },
  {
    name: 'stop signals without an operating system',
    base: {},
    cases: [
      [
        'spec.containers.0.lifecycle',
        { stopSignal: 'SIGTERM' },
        ['spec.containers[0].lifecycle.stopSignal: Forbidden'],
      ],
    ],
  },
]);
