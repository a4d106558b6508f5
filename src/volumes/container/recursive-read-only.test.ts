import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { StatusResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';
import { supportsRecursiveReadOnly } from './recursive-read-only.ts';

const { signal } = new AbortController();
const features = { recursiveReadOnlyMounts: true };
const cri = {
  status: async () =>
    StatusResponse.fromPartial({
      runtimeHandlers: [{ name: '', features }, { name: 'kata-qemu', features }, { name: 'old' }],
    }),
};
/** RuntimeClasses by name, with their handlers. */
const handlers: Readonly<Record<string, string>> = {
  kata: 'kata-qemu',
  'kata-qemu': 'old',
  odd: 'missing-handler',
};
const objects = {
  runtimeClass: async (name: string) => {
    const handler = handlers[name];
    if (handler === undefined)
      throw new KubeletError('not-found', 'NotFound', `runtimeclasses "${name}" not found`);
    return { handler };
  },
};

const cases: readonly (readonly [string, string | undefined, boolean])[] = [
  ['without a RuntimeClass the default handler decides', undefined, true],
  ['an empty RuntimeClass name means the default handler', '', true],
  ['the handler of the RuntimeClass decides, not its name', 'kata', true],
  ['a RuntimeClass named like a supporting handler does not borrow its features', 'kata-qemu', false],
  ['a handler the runtime does not report supports nothing', 'odd', false],
  ['a RuntimeClass that does not exist supports nothing', 'missing', false],
];
for (const [name, runtimeClassName, want] of cases)
  test(`supportsRecursiveReadOnly: ${name}`, async () => {
    const pod = aPod(runtimeClassName === undefined ? {} : { runtimeClassName });
    expect(await supportsRecursiveReadOnly({ cri, objects }, pod, signal)).toBe(want);
  });

test('an aborted lookup rejects instead of reporting no support', async () => {
  const aborted = { runtimeClass: () => Promise.reject(new Aborted('the kubelet stops')) };
  const pod = aPod({ runtimeClassName: 'kata' });
  await expect(supportsRecursiveReadOnly({ cri, objects: aborted }, pod, signal)).rejects.toThrow(Aborted);
});
