import { describe, expect, test } from 'vitest';
import { realClock } from '../base/clock.ts';
import { Verbosity } from '../base/log/log.ts';
import { jsonLogger } from '../base/log/log-json.ts';
import { logEffectiveConfiguration, maskConfiguration } from './effective-config.ts';

const cases = [
  [
    'header values, not their names',
    { staticPodURLHeader: { Authorization: ['Bearer x', 'y'], 'X-A': ['z'] } },
    { staticPodURLHeader: { Authorization: ['<masked>'], 'X-A': ['<masked>'] } },
  ],
  ['no headers', { staticPodURLHeader: {} }, { staticPodURLHeader: {} }],
  ['headers that are null', { staticPodURLHeader: null }, { staticPodURLHeader: '<masked>' }],
  [
    'user and password of a URL',
    { staticPodURL: 'https://me:pw@host:8443/pods' },
    { staticPodURL: 'https://<masked>@host:8443/pods' },
  ],
  [
    'the query of a URL',
    { staticPodURL: 'https://host/pods?token=abc&x=1#part' },
    { staticPodURL: 'https://host/pods?<masked>#part' },
  ],
  ['a URL without secrets stays', { staticPodURL: 'https://host/a@b' }, { staticPodURL: 'https://host/a@b' }],
  ['an empty URL stays', { staticPodURL: '' }, { staticPodURL: '' }],
  [
    'tokens and passwords, however deep',
    { a: [{ bearerToken: 't', password: '' }], b: { clientSecret: 's' } },
    { a: [{ bearerToken: '<masked>', password: '' }], b: { clientSecret: '<masked>' } },
  ],
  [
    'lists of secrets',
    { tokens: ['kept'], token: ['t1', 't2'] },
    { tokens: ['kept'], token: ['<masked>', '<masked>'] },
  ],
  [
    'all else stays',
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

describe('logEffectiveConfiguration', () => {
  for (const [level, want] of [
    [4, 0],
    [5, 1],
  ] as const) {
    test(`at -v=${level} it writes ${want} lines, and makes the configuration as often`, () => {
      const lines: string[] = [];
      const log = jsonLogger({
        write: (line) => lines.push(line),
        clock: realClock,
        verbosity: new Verbosity(level),
        pid: 1,
      });
      let made = 0;
      logEffectiveConfiguration(log, () => {
        made++;
        return { staticPodURLHeader: { Authorization: ['Bearer x'] }, maxPods: 7 };
      });
      expect([lines.length, made]).toEqual([want, want]);
      expect(lines.join('')).not.toContain('Bearer');
      if (want === 1) expect(lines[0]).toContain('"maxPods":7');
    });
  }
});
