import { describe, expect, test } from 'vitest';
import { type IdRangeHost, kubeletIdRange, parseSubIds } from './id-range.ts';

const all = { first: 65_536, length: 2 ** 32 - 65_536 };
const users = 'root:x:0:0::/:/bin/sh\nkubelet:x:998:998::/:/bin/false\n';

function host(over: Partial<IdRangeHost>): IdRangeHost {
  return { users: async () => users, getSubIds: async () => '0: kubelet 131072 655360\n', ...over };
}

describe('kubeletIdRange', () => {
  test('returns the range configured for the user kubelet', async () => {
    expect(await kubeletIdRange(65_536, host({}))).toEqual({ first: 131_072, length: 655_360 });
  });
  test('returns all IDs above 65535 without the user or the tool', async () => {
    expect(await kubeletIdRange(65_536, host({ users: async () => 'root:x:0:0\n' }))).toEqual(all);
    expect(await kubeletIdRange(65_536, host({ getSubIds: async () => undefined }))).toEqual(all);
  });
  test('leaves out the first IDs by the length of a range', async () => {
    const range = await kubeletIdRange(131_072, host({ getSubIds: async () => undefined }));
    expect(range).toEqual({ first: 131_072, length: 2 ** 32 - 131_072 });
  });
  test('rejects different ranges for users and groups', async () => {
    const getSubIds = async (args: readonly string[]): Promise<string> => `0: kubelet ${args.length} 65536\n`;
    await expect(kubeletIdRange(65_536, host({ getSubIds }))).rejects.toThrow(
      'mismatched subuids and subgids',
    );
  });
});

describe('parseSubIds', () => {
  const bad = [
    '',
    '0: kubelet 1',
    '0: kubelet a 1',
    '0: kubelet 1 2\n1: kubelet 3 4\n',
    '0: kubelet 4294967296 1',
  ];
  for (const text of bad)
    test(`rejects ${JSON.stringify(text)}`, () => expect(() => parseSubIds(text)).toThrow('line'));
});
