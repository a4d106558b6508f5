import { describe, expect, test } from 'vitest';
import { violationsOf, withBase } from '../../../test/builders/validation-cases.ts';
import { defaultPodValidation } from './validate-pod.ts';
import { violationText } from './violation.ts';

function lines(base: object, options = defaultPodValidation): string[] {
  return violationsOf(withBase(base), options).map(violationText);
}

describe('a pod', () => {
  test('that is valid passes', () => {
    expect(lines({})).toEqual([]);
  });

  test('has all its violations reported in the format of the API', () => {
    const containers = [
      {
        name: 'X',
        ports: [{ containerPort: 80, protocol: 'ICMP' }],
        volumeMounts: [{ name: 'v', mountPath: '/' }],
      },
      { name: 'y', image: 'i', resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } },
      { name: 'y', image: 'i' },
    ];
    expect(
      lines({
        spec: { containers, restartPolicy: 'Sometimes', ephemeralContainers: [{ name: 'd', image: 'i' }] },
      }),
    ).toEqual([
      expect.stringMatching(/^spec\.containers\[0\]\.name: Invalid value: "X": must be lower-case/),
      'spec.containers[0].image: Required value',
      'spec.containers[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
      'spec.containers[0].volumeMounts[0].name: Not found: "v"',
      'spec.containers[1].resources.requests: Invalid value: "2": must not be more than the cpu limit of 1',
      'spec.containers[2].name: Duplicate value: "y"',
      'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
      'spec.ephemeralContainers: Forbidden: cannot be set when the pod is created',
    ]);
  });

  test('with a huge value has it truncated in the message', () => {
    const [line = ''] = lines({ spec: { hostname: 'x'.repeat(10_000) } });
    expect(line.length).toBeLessThan(400);
  });

  test('with a name that is too long reports the limit', () => {
    expect(lines({ spec: { hostnameOverride: 'x'.repeat(65) } })).toEqual([
      expect.stringMatching(/^spec\.hostnameOverride: Too long: may not be more than 64 bytes$/),
    ]);
  });
});

describe('gates', () => {
  const rules = { ...defaultPodValidation, containerRestartRules: true, seLinuxMount: false };
  const container = (more: object): object => ({
    spec: { containers: [{ name: 'app', image: 'i', ...more }] },
  });
  const init = (more: object): object => ({
    spec: { initContainers: [{ name: 'init', image: 'i', ...more }] },
  });
  const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } };

  const cases: readonly (readonly [string, object, readonly string[]])[] = [
    ['its own policy', container({ restartPolicy: 'Never', restartPolicyRules: [rule] }), []],
    [
      'rules without a policy',
      container({ restartPolicyRules: [rule] }),
      ['spec.containers[0].restartPolicy: Required value: must be given with restartPolicyRules'],
    ],
    [
      'an unknown policy',
      container({ restartPolicy: 'Later' }),
      [
        'spec.containers[0].restartPolicy: Unsupported value: "Later": supported values: "Always", "Never", "OnFailure"',
      ],
    ],
    [
      'an empty rule',
      container({ restartPolicy: 'Never', restartPolicyRules: [{}] }),
      [
        'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "": supported values: "Restart", "RestartAllContainers"',
        'spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be given',
      ],
    ],
    [
      'an unknown operator',
      container({
        restartPolicy: 'Never',
        restartPolicyRules: [{ ...rule, exitCodes: { operator: 'Like' } }],
      }),
      [
        'spec.containers[0].restartPolicyRules[0].exitCodes.operator: Unsupported value: "Like": supported values: "In", "NotIn"',
      ],
    ],
    [
      'too many rules',
      container({ restartPolicy: 'Never', restartPolicyRules: Array.from({ length: 21 }, () => rule) }),
      ['spec.containers[0].restartPolicyRules: Too many: 21: must have at most 20 items'],
    ],
    [
      'too many exit codes',
      container({
        restartPolicy: 'Never',
        restartPolicyRules: [
          { ...rule, exitCodes: { operator: 'In', values: Array.from({ length: 256 }, (_, code) => code) } },
        ],
      }),
      [
        'spec.containers[0].restartPolicyRules[0].exitCodes.values: Too many: 256: must have at most 255 items',
      ],
    ],
    ['an init container that is never restarted', init({ restartPolicy: 'Never' }), []],
    ['a sidecar with rules', init({ restartPolicy: 'Always', restartPolicyRules: [rule] }), []],
  ];
  for (const [name, base, want] of cases)
    test(`ContainerRestartRules: ${name}`, () => expect(lines(base, rules)).toEqual(want));

  test('StrictIPCIDRValidation off allows addresses that programs read differently', () => {
    const base = { spec: { hostAliases: [{ ip: '010.1.1.1', hostnames: ['a'] }] } };
    expect(lines(base)).toEqual([
      'spec.hostAliases[0].ip: Invalid value: "010.1.1.1": must not have leading 0s',
    ]);
    expect(lines(base, { ...defaultPodValidation, strictIps: false })).toEqual([]);
  });

  test('SELinuxMount allows mounting with a label', () => {
    const base = { spec: { securityContext: { seLinuxChangePolicy: 'MountOption' } } };
    expect(lines(base)).toHaveLength(1);
    expect(lines(base, { ...defaultPodValidation, seLinuxMount: true })).toEqual([]);
  });
});
