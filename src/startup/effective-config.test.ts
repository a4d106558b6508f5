import { describe, expect, test } from 'vitest';
import { realClock } from '../base/clock.ts';
import { Verbosity } from '../base/log/log.ts';
import { jsonLogger } from '../base/log/log-json.ts';
import { logEffectiveConfiguration, maskConfiguration } from './effective-config.ts';

const cases = [
  [
    'masks header values, not their names',
    { staticPodURLHeader: { Authorization: ['Bearer x', 'y'], 'X-A': ['z'] } },
    { staticPodURLHeader: { Authorization: ['<masked>'], 'X-A': ['<masked>'] } },
  ],
  ['keeps an empty header map', { staticPodURLHeader: {} }, { staticPodURLHeader: {} }],
  ['masks headers that are null', { staticPodURLHeader: null }, { staticPodURLHeader: '<masked>' }],
  [
    'masks user and password of a URL',
    { staticPodURL: 'https://me:pw@host:8443/pods' },
    { staticPodURL: 'https://<masked>@host:8443/pods' },
  ],
  [
    'masks the query of a URL',
    { staticPodURL: 'https://host/pods?token=abc&x=1#part' },
    { staticPodURL: 'https://host/pods?<masked>#part' },
  ],
  ['keeps a URL without secrets', { staticPodURL: 'https://host/a@b' }, { staticPodURL: 'https://host/a@b' }],
  ['keeps an empty URL', { staticPodURL: '' }, { staticPodURL: '' }],
  [
    'masks tokens and passwords at any depth',
    { a: [{ bearerToken: 't', password: '' }], b: { clientSecret: 's' } },
    { a: [{ bearerToken: '<masked>', password: '' }], b: { clientSecret: '<masked>' } },
  ],
  [
    'masks lists of secrets',
    { tokens: ['kept'], token: ['t1', 't2'] },
    { tokens: ['kept'], token: ['<masked>', '<masked>'] },
  ],
  [
    'keeps everything else',
    {
      authentication: { webhook: { enabled: true, cacheTTL: '2m0s' } },
      maxPods: 110,
      clusterDNS: ['10.0.0.10'],
      x: null,
    },
    {
      authentication: { webhook: { enabled: true, cacheTTL: '2m0s' } },
      maxPods: 110,
      clusterDNS: ['10.0.0.10'],
      x: null,
    },
  ],
] as const;

describe('maskConfiguration', () => {
  for (const [name, value, want] of cases) {
    test(name, () => {
      const before = JSON.stringify(value);
      expect(maskConfiguration(value)).toEqual(want);
      expect(JSON.stringify(value)).toBe(before);
    });
  }
});

test('logEffectiveConfiguration logs YAML with sorted keys, without credentials, at any verbosity', () => {
  const lines: string[] = [];
  const log = jsonLogger({
    write: (line) => lines.push(line),
    clock: realClock,
    verbosity: new Verbosity(0),
    pid: 1,
  });
  logEffectiveConfiguration(log, {
    staticPodURLHeader: { Authorization: ['Bearer x'] },
    maxPods: 7,
    kind: 'KubeletConfiguration',
    clusterDNS: ['10.96.0.10'],
  });
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      msg: 'Effective KubeletConfiguration',
      config:
        'clusterDNS:\n  - 10.96.0.10\nkind: KubeletConfiguration\nmaxPods: 7\nstaticPodURLHeader:\n  Authorization:\n    - <masked>\n',
    },
  ]);
});
