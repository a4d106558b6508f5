import { describe, expect, test } from 'vitest';
import type { KubeletProcess, Listener, ServedPort } from './facts.ts';
import { judgeKubelets } from './kubelets.ts';
import { judgePort } from './ports.ts';

const served: ServedPort = { setting: 'port', port: 10250, address: '0.0.0.0' };
const listener: Listener = { port: 10250, address: '::', pid: 7, program: 'nginx' };
const kubelet: KubeletProcess = { pid: 7, rootDir: '/var/lib/kubelet', files: [] };

describe('judgePort', () => {
  const cases: readonly (readonly [
    string,
    ServedPort,
    readonly Listener[],
    readonly KubeletProcess[],
    string,
    string,
  ])[] = [
    ['not served', { ...served, port: 0 }, [listener], [], 'ok', 'not served'],
    ['free', served, [{ ...listener, port: 80 }], [], 'ok', '10250 is free'],
    ['another program', served, [listener], [], 'fail', '10250 is in use on :: by nginx (pid 7)'],
    ['our own kubelet', served, [listener], [kubelet], 'ok', 'served by the running kubelet (pid 7)'],
    [
      'another kubelet',
      served,
      [listener],
      [{ ...kubelet, rootDir: '/srv/k' }],
      'fail',
      'a kubelet with the root directory /srv/k (pid 7)',
    ],
    ['an unknown owner', served, [{ ...listener, pid: undefined }], [], 'fail', 'run as root'],
    [
      'another address',
      { ...served, address: '127.0.0.1' },
      [{ ...listener, address: '10.0.0.1' }],
      [],
      'ok',
      'free',
    ],
    [
      'the same address',
      { ...served, address: '127.0.0.1' },
      [{ ...listener, address: '127.0.0.1' }],
      [],
      'fail',
      'nginx',
    ],
  ];
  for (const [name, port, listeners, kubelets, status, words] of cases)
    test(`${name} → ${status}`, () => {
      const finding = judgePort(port, listeners, { isKnown: true, value: kubelets }, '/var/lib/kubelet');
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });
  test('without the list of kubelets the owner is any program', () =>
    expect(judgePort(served, [listener], { isKnown: false, why: 'late' }, '/').status).toBe('fail'));
});

describe('judgeKubelets', () => {
  const configured = { ...kubelet, files: ['--config=/k.yaml', '--kubeconfig=/k.conf'] };
  const cases = [
    ['none', [], true, 'ok'],
    ['one', [kubelet], true, 'ok'],
    ['one with files, and files are checked', [configured], false, 'ok'],
    ['one with files, and the defaults are checked', [configured], true, 'warn'],
    ['one with another root directory', [{ ...configured, rootDir: '/srv/k' }], true, 'ok'],
    ['two', [kubelet, { ...kubelet, pid: 8 }], true, 'fail'],
  ] as const;
  for (const [name, kubelets, isDefault, status] of cases)
    test(`${name} → ${status}`, () =>
      expect(judgeKubelets(kubelets, { isDefault, rootDir: '/var/lib/kubelet' }).status).toBe(status));
  test('the fix has the flags of the running kubelet', () =>
    expect(judgeKubelets([configured], { isDefault: true, rootDir: '/var/lib/kubelet' }).fix).toBe(
      'kubelet doctor --config=/k.yaml --kubeconfig=/k.conf',
    ));
});
