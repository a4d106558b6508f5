import { describe, expect, test } from 'vitest';
import { proxyFromEnvironment } from './proxy-environment.ts';

describe('proxyFromEnvironment', () => {
  const env = { HTTPS_PROXY: 'proxy:3128' };
  const cases: readonly (readonly [string, string, Record<string, string>, string | undefined])[] = [
    ['no proxy in the environment', 'https://api.example', {}, undefined],
    ['a proxy without a scheme', 'https://api.example', env, 'http://proxy:3128/'],
    ['a lower-case variable', 'https://api.example', { https_proxy: 'http://p' }, 'http://p/'],
    ['a proxy for the other protocol', 'http://api.example', env, undefined],
    ['localhost', 'https://localhost:6443', env, undefined],
    ['loopback', 'https://127.0.0.2:6443', env, undefined],
    ['excluded by name', 'https://api.example', { ...env, NO_PROXY: 'x, api.example' }, undefined],
    ['excluded by parent domain', 'https://api.example', { ...env, NO_PROXY: 'example' }, undefined],
    ['excluded by suffix', 'https://api.example', { ...env, NO_PROXY: '.example' }, undefined],
    [
      'a name with the same ending but no dot',
      'https://apiexample',
      { ...env, NO_PROXY: 'example' },
      'http://proxy:3128/',
    ],
    ['excluded by network', 'https://10.1.2.3:6443', { ...env, NO_PROXY: '10.0.0.0/8' }, undefined],
    [
      'outside the excluded network',
      'https://11.1.2.3:6443',
      { ...env, NO_PROXY: '10.0.0.0/8' },
      'http://proxy:3128/',
    ],
    ['an invalid network', 'https://10.1.2.3', { ...env, NO_PROXY: '10.0.0.0/99' }, 'http://proxy:3128/'],
    ['excluded by port', 'https://api.example:6443', { ...env, NO_PROXY: 'api.example:6443' }, undefined],
    [
      'excluded for another port',
      'https://api.example:6443',
      { ...env, NO_PROXY: 'api.example:1' },
      'http://proxy:3128/',
    ],
    ['an IPv6 address', 'https://[fd00::1]:6443', { ...env, NO_PROXY: 'fd00::1' }, undefined],
    ['everything excluded', 'https://api.example', { ...env, NO_PROXY: '*' }, undefined],
    ['an unsupported proxy protocol', 'https://api.example', { HTTPS_PROXY: 'socks5://p' }, undefined],
  ];
  for (const [name, server, given, want] of cases)
    test(name, () => expect(proxyFromEnvironment(new URL(server), given)?.href).toBe(want));
});
