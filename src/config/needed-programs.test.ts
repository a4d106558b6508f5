import { expect, test } from 'vitest';
import { Duration } from './duration.ts';
import { legacyConfiguration } from './load/complete.ts';
import { neededPrograms } from './needed-programs.ts';

const config = legacyConfiguration({});
const names = (over: Partial<typeof config>): readonly string[] =>
  neededPrograms({ ...config, ...over }).map(({ program }) => program);

test('neededPrograms follows the settings', () => {
  expect(names({})).toEqual(['mount', 'umount', 'iptables']);
  expect(names({ makeIPTablesUtilChains: false })).toEqual(['mount', 'umount']);
  const shutdownGracePeriod = Duration.parse('30s') ?? config.shutdownGracePeriod;
  expect(names({ shutdownGracePeriod })).toContain('systemd-inhibit');
  expect(
    names({ shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 9 }] }),
  ).toContain('systemd-inhibit');
});
