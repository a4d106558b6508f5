import { describe, expect, test } from 'vitest';
import { nodeName } from './node-name.ts';

const cases = [
  ['the name of the host', 'node-1', '', 'node-1'],
  ['in lower case, trimmed', ' Node-1.Example.COM\n', '', 'node-1.example.com'],
  ['the override wins', 'node-1', 'other', 'other'],
  ['the override in lower case, trimmed', 'node-1', '\tOTHER ', 'other'],
  ['an address is a name, too', 'node-1', '10.0.0.5', '10.0.0.5'],
] as const;

describe('nodeName', () => {
  for (const [name, hostname, override, want] of cases) {
    test(name, () => {
      expect(nodeName(hostname, override)).toBe(want);
    });
  }
  const refused = [
    ['a host without a name', '', '', 'the host has no name'],
    ['a host with a blank name', ' \n', '', 'the host has no name'],
    ['a blank override, whatever the host is called', 'node-1', '  ', '--hostname-override is blank'],
  ] as const;
  for (const [name, hostname, override, why] of refused) {
    test(`refused: ${name}`, () => {
      expect(() => nodeName(hostname, override)).toThrow(why);
    });
  }
});
