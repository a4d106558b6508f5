import { describe, expect, test } from 'vitest';
import { proxyFromEnvironment } from './proxy-environment.ts';

describe('proxyFromEnvironment', () => {
  const env = { HTTPS_PROXY: 'proxy:3128' };
  const cases: readonly (readonly [string, string, Record<string, string>, string | undefined])[] = [
    ['none named', 'https://api.example', {}, undefined],
    ['named without a scheme', 'https://api.example', env, 'http://proxy:3128/'],
    ['lower case', 'https://api.example', { https_proxy: 'http://p' }, 'http://p/'],
    ['for the other protocol', 'http://api.example', env, undefined],
    ['localhost', 'https://localhost:6443', env, undefined],
    ['loopback', 'https://127.0.0.2:6443', env, undefined],
    ['excepted by name', 'https://api.example', { ...env, NO_PROXY: 'x, api.example' }, undefined],
    ['excepted by what lies above', 'https://api.example', { ...env, NO_PROXY: 'example' }, undefined],
    ['excepted by suffix', 'https://api.example', { ...env, NO_PROXY: '.example' }, undefined],
    [
      'another name that ends alike',
      'https://apiexample',
      { ...env, NO_PROXY: 'example' },
      'http://proxy:3128/',
    ],
    ['excepted by network', 'https://10.1.2.3:6443', { ...env, NO_PROXY: '10.0.0.0/8' }, undefined],
    [
      'outside the network',
      'https://11.1.2.3:6443',
      { ...env, NO_PROXY: '10.0.0.0/8' },
      'http://proxy:3128/',
    ],
    ['a network that is none', 'https://10.1.2.3', { ...env, NO_PROXY: '10.0.0.0/99' }, 'http://proxy:3128/'],
    ['excepted by port', 'https://api.example:6443', { ...env, NO_PROXY: 'api.example:6443' }, undefined],
    ['another port', 'https://api.example:6443', { ...env, NO_PROXY: 'api.example:1' }, 'http://proxy:3128/'],
    ['an IPv6 address', 'https://[fd00::1]:6443', { ...env, NO_PROXY: 'fd00::1' }, undefined],
    ['everything excepted', 'https://api.example', { ...env, NO_PROXY: '*' }, undefined],
    ['a protocol that is not known', 'https://api.example', { HTTPS_PROXY: 'socks5://p' }, undefined],
  ];
  for (const [name, server, given, want] of cases)
    test(name, () => expect(proxyFromEnvironment(new URL(server), given)?.href).toBe(want));
});
