import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { aVolumeSpec } from '../../../test/builders/volume-requests.ts';
import type { VolumeSpec } from '../plugin.ts';
import { driverOptions, type FlexSource, flexSource, mountOptions } from './driver-options.ts';

const source: FlexSource = { driver: 'v/d', fsType: '', readOnly: false, options: {}, secret: undefined };
const volume = { directoryName: 'pv1' };

const options: readonly (readonly [string, Partial<FlexSource>, Record<string, string>, string])[] = [
  [
    'has upstream’s keys, sorted',
    {},
    {},
    '{"kubernetes.io/fsType":"","kubernetes.io/pvOrVolumeName":"pv1","kubernetes.io/readwrite":"rw"}',
  ],
  [
    'has the type, ro and the options of the user',
    { fsType: 'ext4', readOnly: true, options: { size: '1Gi', a: 'b' } },
    {},
    '{"a":"b","kubernetes.io/fsType":"ext4","kubernetes.io/pvOrVolumeName":"pv1","kubernetes.io/readwrite":"ro","size":"1Gi"}',
  ],
  [
    'escapes as Go does',
    { options: { x: '<a>&"\\\n\u2028\u0001é😀' } },
    {},
    '{"kubernetes.io/fsType":"","kubernetes.io/pvOrVolumeName":"pv1","kubernetes.io/readwrite":"rw","x":"\\u003ca\\u003e\\u0026\\"\\\\\\n\\u2028\\u0001é😀"}',
  ],
  [
    'sorts by bytes, not by UTF-16 units',
    { fsType: 'x', options: { '😀': '1', '\uffee': '2' } },
    {},
    '{"kubernetes.io/fsType":"x","kubernetes.io/pvOrVolumeName":"pv1","kubernetes.io/readwrite":"rw","\uffee":"2","😀":"1"}',
  ],
  [
    'keeps keys of the prototype',
    { options: JSON.parse('{"__proto__":"p","constructor":"c"}') as Record<string, string> },
    {},
    '{"__proto__":"p","constructor":"c","kubernetes.io/fsType":"","kubernetes.io/pvOrVolumeName":"pv1","kubernetes.io/readwrite":"rw"}',
  ],
  [
    'does not let the user replace a key of the kubelet',
    {
      options: { 'kubernetes.io/pod.namespace': 'kube-system', 'kubernetes.io/readwrite': 'rw' },
      readOnly: true,
    },
    { 'kubernetes.io/pod.namespace': 'default' },
    '{"kubernetes.io/fsType":"","kubernetes.io/pod.namespace":"default","kubernetes.io/pvOrVolumeName":"pv1","kubernetes.io/readwrite":"ro"}',
  ],
];
for (const [name, over, extra, want] of options)
  test(`driverOptions ${name}`, () => {
    expect(driverOptions({ ...source, ...over }, volume, new Map(Object.entries(extra)))).toBe(want);
  });

test('driverOptions rejects what the kernel would not pass on, without repeating it', () => {
  const long = { ...source, options: { secret: 'x'.repeat(131_000) } };
  expect(() => driverOptions(long, volume)).toThrow(
    /^the options and secrets of the volume have 131\d{3} bytes, more than the 131071 of an argument$/,
  );
});

test('mountOptions: the pod, its service account, its fsGroup and the secrets', () => {
  const pod = aPod({ serviceAccountName: 'sa' });
  expect(Object.fromEntries(mountOptions(pod, 7, new Map([['key', 'dmFsdWU=']])))).toEqual({
    'kubernetes.io/pod.name': 'p',
    'kubernetes.io/pod.namespace': 'default',
    'kubernetes.io/pod.uid': 'uid-p',
    'kubernetes.io/serviceAccount.name': 'sa',
    'kubernetes.io/secret/key': 'dmFsdWU=',
    'kubernetes.io/mounterArgs.FsGroup': '7',
  });
  const plain = mountOptions(aPod(), undefined, new Map());
  expect(plain.get('kubernetes.io/serviceAccount.name')).toBe('');
  expect(plain.has('kubernetes.io/mounterArgs.FsGroup')).toBe(false);
});

const persistent = (flexVolume: object): Partial<VolumeSpec> => ({
  persistent: { spec: { flexVolume: { driver: 'v/d', ...flexVolume } } },
});
const sources: readonly (readonly [string, VolumeSpec, Partial<FlexSource> | undefined])[] = [
  ['no FlexVolume', aVolumeSpec({ emptyDir: {} }), undefined],
  ['a volume of the pod', aVolumeSpec({ flexVolume: { driver: 'v/d', readOnly: true } }), { readOnly: true }],
  [
    'its secret in the pod’s namespace',
    aVolumeSpec({ flexVolume: { driver: 'v/d', secretRef: { name: 's' } } }),
    { secret: { name: 's', namespace: undefined } },
  ],
  [
    'a persistent volume and the secret’s namespace',
    aVolumeSpec({}, persistent({ fsType: 'xfs', secretRef: { name: 's', namespace: 'n' } })),
    { fsType: 'xfs', secret: { name: 's', namespace: 'n' } },
  ],
  [
    'an empty namespace: that of the pod',
    aVolumeSpec({}, persistent({ secretRef: { name: 's', namespace: '' } })),
    { secret: { name: 's', namespace: undefined } },
  ],
  ['no name: no secret', aVolumeSpec({}, persistent({ secretRef: {} })), { secret: undefined }],
  ['the claim’s readOnly', aVolumeSpec({}, { ...persistent({}), readOnly: true }), { readOnly: true }],
  ['the persistent volume’s readOnly', aVolumeSpec({}, persistent({ readOnly: true })), { readOnly: true }],
];
for (const [name, spec, want] of sources)
  test(`flexSource: ${name}`, () => {
    expect(flexSource(spec)).toEqual(want === undefined ? undefined : { ...source, ...want });
  });
