import { describe, expect, test } from 'vitest';
import { podFields } from './generated/pod-fields.ts';
import { fieldType, parseType } from './schema.ts';

describe('the schema', () => {
  test('defines every type that it refers to', () => {
    const named = new Set(Object.values(podFields).flatMap((fields) => Object.values(fields)));
    const missing = [...named]
      .map((text) => text.replaceAll(/\[\]|\{\}/g, ''))
      .filter((name) => parseType(name).is === 'struct' && podFields[name] === undefined);
    expect(missing).toEqual([]);
  });

  test('defines no type that a pod does not reach', () => {
    const reached = new Set<string>();
    const walk = (name: string): void => {
      if (reached.has(name)) return;
      reached.add(name);
      for (const text of Object.values(podFields[name] ?? {})) {
        const inner = text.replaceAll(/\[\]|\{\}/g, '');
        if (parseType(inner).is === 'struct') walk(inner);
      }
    };
    walk('Pod');
    expect(Object.keys(podFields).filter((name) => !reached.has(name))).toEqual([]);
  });

  const lookups = [
    ['Pod', 'spec', { is: 'struct', name: 'PodSpec' }],
    ['PodSpec', 'containers', { is: 'list', of: { is: 'struct', name: 'Container' } }],
    ['PodSpec', 'nodeSelector', { is: 'map', of: { is: 'scalar', name: 'string' } }],
    ['PodSpec', 'overhead', { is: 'map', of: { is: 'scalar', name: 'quantity' } }],
    ['Probe', 'httpGet', { is: 'struct', name: 'HTTPGetAction' }],
    ['TCPSocketAction', 'port', { is: 'scalar', name: 'intOrString' }],
    ['ObjectMeta', 'creationTimestamp', { is: 'scalar', name: 'time' }],
    ['Volume', 'emptyDir', { is: 'struct', name: 'EmptyDirVolumeSource' }],
    ['PodSpec', 'schedulingGroup', { is: 'struct', name: 'PodSchedulingGroup' }],
    ['VolumeMount', 'bindMountOptions', { is: 'list', of: { is: 'scalar', name: 'string' } }],
    ['EmptyDirVolumeSource', 'mode', { is: 'scalar', name: 'int32' }],
    ['PodCertificateProjection', 'userAnnotations', { is: 'map', of: { is: 'scalar', name: 'string' } }],
    ['PodSpec', 'contaners', undefined],
    ['PodSpec', 'constructor', undefined],
  ] as const;
  for (const [struct, field, want] of lookups)
    test(`${struct}.${field}`, () => expect(fieldType(struct, field)).toEqual(want));

  test('throws on an unknown type', () => {
    expect(() => fieldType('Service', 'spec')).toThrow(RangeError);
  });
});
