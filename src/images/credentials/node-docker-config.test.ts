import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../base/log/log.ts';
import { dockerConfigPaths, NodeDockerConfig } from './node-docker-config.ts';

const directories = { rootDir: '/var/lib/kubelet', workingDirectory: '/cwd', home: '/root' };
const entry = (username: string): string =>
  JSON.stringify({ auths: { 'example.com': { username, password: 'p' } } });
const legacy = (username: string): string => JSON.stringify({ 'example.com': { username, password: 'p' } });

test("tries the paths in upstream's order", () => {
  expect(dockerConfigPaths(directories).map(({ path }) => path)).toEqual([
    '/var/lib/kubelet/config.json',
    '/cwd/config.json',
    '/root/.docker/config.json',
    '/.docker/config.json',
    '/var/lib/kubelet/.dockercfg',
    '/cwd/.dockercfg',
    '/root/.dockercfg',
    '/.dockercfg',
  ]);
  expect(dockerConfigPaths({ ...directories, home: '' })[2]?.path).toBe('/cwd/.docker/config.json');
});

test.each([
  ['none', {}, ''],
  [
    'the root directory first',
    { '/var/lib/kubelet/config.json': entry('a'), '/cwd/config.json': entry('b') },
    'a',
  ],
  ['home', { '/root/.docker/config.json': entry('h') }, 'h'],
  [
    'the new format before the old',
    { '/var/lib/kubelet/.dockercfg': legacy('o'), '/.docker/config.json': entry('n') },
    'n',
  ],
  ['the old format', { '/root/.dockercfg': legacy('o') }, 'o'],
  [
    'an invalid file is skipped',
    { '/var/lib/kubelet/config.json': '{', '/cwd/config.json': entry('b') },
    'b',
  ],
  [
    'a file without registries is used',
    { '/var/lib/kubelet/config.json': '{}', '/cwd/config.json': entry('b') },
    '',
  ],
  [
    'an unreadable file is skipped',
    { '/var/lib/kubelet/config.json': undefined, '/cwd/config.json': entry('b') },
    'b',
  ],
] as const)('%s', async (_, files: Readonly<Record<string, string | undefined>>, want) => {
  const clock = new FakeClock();
  const read = async (path: string): Promise<string | undefined> => {
    if (path in files && files[path] === undefined) throw new Error('EACCES');
    return files[path];
  };
  const node = new NodeDockerConfig({ read, directories, clock, log: silentLogger });
  const found = (await node.keyring()).lookup('example.com/app');
  expect(found.map(({ username }) => username).join(',')).toBe(want);
});

test('reads the file again after five minutes', async () => {
  const clock = new FakeClock();
  let username = 'old';
  const node = new NodeDockerConfig({
    read: async () => entry(username),
    directories,
    clock,
    log: silentLogger,
  });
  const seen = async (): Promise<string | undefined> =>
    (await node.keyring()).lookup('example.com/a')[0]?.username;
  expect(await seen()).toBe('old');
  username = 'new';
  await clock.advance(5 * 60_000 - 1);
  expect(await seen()).toBe('old');
  await clock.advance(1);
  expect(await seen()).toBe('new');
});
