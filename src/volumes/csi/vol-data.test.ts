import { expect, test } from 'vitest';
import { FakeVolumeHost } from '../../../test/fakes/fake-volume-host.ts';
import { blockText, parseVolumeData, readVolumeData, stagingText, targetText } from './vol-data.ts';

const id = { driver: 'd.csi', handle: 'a<b' };

test('writes what the Go kubelet writes, byte for byte', () => {
  expect(targetText({ ...id, isEphemeral: false }, 'pv', 'n', 'l')).toBe(
    '{"attachmentID":"csi-f0f422b372af7b859f93e857ad08adaeaf8a01aa0f4b37cbfa158c30fa05222e","driverName":"d.csi",' +
      '"nodeName":"n","seLinuxMountContext":"l","specVolID":"pv","volumeHandle":"a\\u003cb","volumeLifecycleMode":"Persistent"}\n',
  );
  expect(stagingText(id, undefined)).toBe('{"driverName":"d.csi","volumeHandle":"a\\u003cb"}\n');
  expect(Object.keys(JSON.parse(blockText(id, 'pv', 'n')) as object)).toEqual([
    'attachmentID',
    'driverName',
    'nodeName',
    'specVolID',
    'volumeHandle',
  ]);
});

test('reads back what it writes, also a handle of the greatest length', () => {
  const handle = '\u0001'.repeat(16_384);
  const text = targetText({ driver: 'd', handle, isEphemeral: true }, 'v', 'n', undefined);
  const data = { driver: 'd', handle, isEphemeral: true, seLinuxLabel: undefined };
  expect(parseVolumeData(text, { specName: 'v' })).toEqual({ kind: 'valid', data });
});

const good = { driverName: 'd', volumeHandle: 'h', specVolID: 'pv', nodeName: 'n' };
const hostile: readonly (readonly [string, string, string])[] = [
  ['truncated', '{"driverName":"d', 'it is not JSON'],
  ['empty', '', 'it is not JSON'],
  ['a list', '[]', 'it is not a JSON object'],
  ['null', 'null', 'it is not a JSON object'],
  ['no driver', JSON.stringify({ ...good, driverName: undefined }), 'its driver name is not valid'],
  ['a path as driver', JSON.stringify({ ...good, driverName: '../../etc' }), 'its driver name is not valid'],
  [
    'the block directory as driver',
    JSON.stringify({ ...good, driverName: 'volumeDevices' }),
    'its driver name is not valid',
  ],
  ['a number as handle', JSON.stringify({ ...good, volumeHandle: 1 }), 'its volume handle is not valid'],
  [
    'a long handle',
    JSON.stringify({ ...good, volumeHandle: 'x'.repeat(16_385) }),
    'its volume handle is not valid',
  ],
  [
    'a long label',
    JSON.stringify({ ...good, seLinuxMountContext: 'x'.repeat(5_000) }),
    'its SELinux label is not valid',
  ],
  ['another volume', JSON.stringify({ ...good, specVolID: 'pw' }), 'it belongs to another volume'],
  [
    'an unknown mode',
    JSON.stringify({ ...good, volumeLifecycleMode: 'X' }),
    'its lifecycle mode is not valid',
  ],
];
for (const [name, text, why] of hostile)
  test(`rejects a file that is ${name}`, () =>
    expect(parseVolumeData(text, { specName: 'pv' })).toEqual({ kind: 'damaged', why }));

test('a file of an older kubelet has no lifecycle mode', () =>
  expect(parseVolumeData(JSON.stringify(good))).toMatchObject({
    kind: 'valid',
    data: { isEphemeral: false },
  }));

test('a huge file is damaged, a missing one is not', async () => {
  const host = new FakeVolumeHost('/root/pods');
  host.ownFiles.set('/root/pods/x', `{"a":"${'x'.repeat(300_000)}"}`);
  expect(await readVolumeData(host, '/root/pods/x')).toMatchObject({ kind: 'damaged' });
  expect(await readVolumeData(host, '/root/pods/y')).toEqual({ kind: 'none' });
});
