import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { giveBackMemory } from './give-back-memory.ts';

test('what nobody holds is collected, and again the next time', async () => {
  for (let round = 0; round < 2; round++) {
    const weak = new WeakRef({ round });
    // What a turn of the loop has looked at is kept until its end.
    await setImmediate();
    giveBackMemory();
    expect(weak.deref()).toBeUndefined();
  }
});
