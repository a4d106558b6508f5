import { describe, expect, test } from 'vitest';
import { nodeName } from './node-name.ts';

const cases = [
  ['uses the host name', 'node-1', '', 'node-1'],
  ['converts to lower case and trims', ' Node-1.Example.COM\n', '', 'node-1.example.com'],
  ['prefers the override', 'node-1', 'other', 'other'],
  ['converts the override to lower case and trims it', 'node-1', '\tOTHER ', 'other'],
  ['accepts an IP address as a name', 'node-1', '10.0.0.5', '10.0.0.5'],
] as const;

describe('nodeName', () => {
  for (const [name, hostname, override, want] of cases) {
    test(name, () => {
      expect(nodeName(hostname, override)).toBe(want);
    });
  }
  const rejected = [
    ['an empty host name', '', '', 'the host name is empty'],
    ['a blank host name', ' \n', '', 'the host name is empty'],
    ['a blank override', 'node-1', '  ', '--hostname-override is blank'],
  ] as const;
  for (const [name, hostname, override, problem] of rejected) {
    test(`rejects ${name}`, () => {
      expect(() => nodeName(hostname, override)).toThrow(problem);
    });
  }
});
