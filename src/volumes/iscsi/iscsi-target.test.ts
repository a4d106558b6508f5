import { describe, expect, test } from 'vitest';
import { parseIscsiFile } from './iscsi-file.ts';
import { parseIface } from './iscsi-iface.ts';
import { parseIscsiPlace } from './iscsi-target.ts';

const root = { path: '/plugins/kubernetes.io/iscsi', isBlock: false };
const iqn = 'iqn.2001-04.com.example:storage.disk-1';

describe('parseIscsiPlace', () => {
  const cases: readonly (readonly [string, readonly string[] | undefined])[] = [
    [`10.0.0.1:3260-${iqn}-lun-0`, ['10.0.0.1:3260', iqn, '0']],
    [`san-1.example.com:3260-${iqn}-lun-12`, ['san-1.example.com:3260', iqn, '12']],
    [`[fd00::1]:3260-${iqn}-lun-0`, ['[fd00::1]:3260', iqn, '0']],
    [`fd00::1-${iqn}-lun-0`, ['fd00::1', iqn, '0']],
    ['10.0.0.1:3260-eui.02004567A425678D-lun-1', ['10.0.0.1:3260', 'eui.02004567A425678D', '1']],
    ['10.0.0.1:3260-naa.52004567BA64678D-lun-1', ['10.0.0.1:3260', 'naa.52004567BA64678D', '1']],
    [`my-iqn.example.com:3260-${iqn}-lun-0`, ['my-iqn.example.com:3260', iqn, '0']],
    [`10.0.0.1:3260-${iqn}:1-iqn.x-lun-0-lun-3`, ['10.0.0.1:3260', `${iqn}:1-iqn.x-lun-0`, '3']],
    [`10.0.0.1-${iqn}-lun-0`, undefined],
    [`10.0.0.1:3260-${iqn}-lun-`, undefined],
    [`10.0.0.1:3260-${iqn}`, undefined],
    ['volumeDevices', undefined],
    ['x'.repeat(300), undefined],
  ];
  for (const [name, want] of cases)
    test(`${name.slice(0, 60)} → ${want?.join(' ')}`, () => {
      const place = parseIscsiPlace(root, 'iface-default', name);
      expect(place === undefined ? undefined : [place.portal, place.iqn, place.lun]).toEqual(want);
    });

  test('takes nothing from a directory of another kind', () => {
    expect(parseIscsiPlace(root, 'volumeDevices', `10.0.0.1:3260-${iqn}-lun-0`)).toBeUndefined();
  });
});

describe('parseIscsiFile', () => {
  const place = parseIscsiPlace(root, 'iface-default', `10.0.0.1:3260-${iqn}-lun-0`);
  const file = { VolName: 'v', Portals: ['10.0.0.1:3260'], Iqn: iqn, Lun: '0' };
  const cases: readonly (readonly [string, unknown, boolean])[] = [
    ['a file of upstream', { ...file, InitIface: 'default', MetricsProvider: null }, true],
    ['another target', { ...file, Iqn: 'iqn.x' }, false],
    ['another LUN', { ...file, Lun: '1' }, false],
    ['no portals', { ...file, Portals: null }, false],
    ['a portal that is not text', { ...file, Portals: [1] }, false],
    ['too many portals', { ...file, Portals: Array(300).fill('p') }, false],
    ['a list', [], false],
    ['null', null, false],
  ];
  for (const [name, value, want] of cases)
    test(`${want ? 'takes' : 'ignores'} ${name}`, () => {
      if (place === undefined) throw new Error('not parsed');
      expect(parseIscsiFile(JSON.stringify(value), place) !== undefined).toBe(want);
    });
});

describe('parseIface', () => {
  test('keeps settings with a value, except the name', () => {
    const text = '# BEGIN\niface.iscsi_ifacename = default\niface.mtu = 0\niface.hwaddress = <empty>\n';
    expect(parseIface(text)).toEqual(new Map([['iface.mtu', '0']]));
  });
  test.each(['iface.mtu 0', 'iface.mtu = 0 1', 'iface.mtu ='])('rejects %j', (line) => {
    expect(parseIface(`${line}\n`)).toBe(`error: invalid iface setting: [${line}]`);
  });
});
