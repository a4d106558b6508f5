import { expect, test } from 'vitest';
import { gitRepoPlugin } from './git-repo.ts';

test('refuses to mount with upstream’s message', async () => {
  const spec = {
    name: 'v',
    directoryName: 'v',
    source: { gitRepo: { repository: 'https://example.com/r' } },
    readOnly: false,
    mountOptions: [],
    persistent: undefined,
    isBlock: false,
  };
  expect(gitRepoPlugin.canServe(spec)).toBe(true);
  expect(gitRepoPlugin.canServe({ ...spec, source: {} })).toBe(false);
  const owner = { fsGroup: undefined, onlyOnRootMismatch: false, user: undefined };
  const request = { pod: {}, spec, path: '/p', owner, isRemount: false };
  await expect(gitRepoPlugin.setUp(request, new AbortController().signal)).rejects.toThrow(
    'git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`',
  );
});
