import { expect, test } from 'vitest';
import { redactUrl } from './redact-url.ts';

test.each([
  ['', ''],
  ['https://host/pods', 'https://host/pods'],
  ['https://host/a@b', 'https://host/a@b'],
  ['https://me:pw@host:8443/pods', 'https://<masked>@host:8443/pods'],
  ['https://token@host/pods', 'https://<masked>@host/pods'],
  ['https://:pw@host/', 'https://<masked>@host/'],
  ['https://me:p%2Fw@host/pods', 'https://<masked>@host/pods'],
  ['https:me:pw@host/pods', 'https://<masked>@host/pods'],
  ['https:\\\\me:pw@host\\pods', 'https://<masked>@host/pods'],
  ['https://host/pods?token=abc&x=1#part', 'https://host/pods?<masked>#part'],
  ['https://host/pods?abc', 'https://host/pods?<masked>'],
  ['https://[::1]:1/?x', 'https://[::1]:1/?<masked>'],
  // Not URLs, but possibly meant to be.
  ['https://me:p/w@host/pods', '<masked>'],
  ['me:pw@host', '<masked>'],
  ['//host/pods?token=abc', '<masked>'],
  ['host:port', 'host:port'],
])('%j is shown as %j', (text, shown) => expect(redactUrl(text)).toBe(shown));

test('takes linear time for long text', () => {
  const text = `https://${'@'.repeat(500_000)}${'?'.repeat(500_000)}`;
  expect(redactUrl(text)).not.toContain('@@');
});
