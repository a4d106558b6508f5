import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { trimMemory } from './trim-memory.ts';

test('collects unreferenced objects at every call', async () => {
  for (let round = 0; round < 2; round++) {
    const weak = new WeakRef({ round });
    // A WeakRef keeps its target alive until the end of the turn that created it.
    await setImmediate();
    trimMemory();
    expect(weak.deref()).toBeUndefined();
  }
});
