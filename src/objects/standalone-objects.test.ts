import { expect, test } from 'vitest';
import { standaloneObjects } from './standalone-objects.ts';

test('a node without an API server has no Services and names the object that it cannot get', async () => {
  const { signal } = new AbortController();
  expect(await standaloneObjects.services(signal)).toEqual([]);
  await expect(standaloneObjects.configMap('default', 'absent', signal)).rejects.toThrow(
    "couldn't get configMap default/absent, no kubeClient defined",
  );
});
