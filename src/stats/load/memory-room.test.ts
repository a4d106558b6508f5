import { expect, test } from 'vitest';
import { memoryRoom } from './memory-room.ts';

const load = { usageBytes: 500, workingSetBytes: 300, limitBytes: 1000 };

const cases = [
  ['available is what the working set leaves', load, 0, [1000, 700]],
  ['huge pages reduce capacity and available', load, 200, [800, 500]],
  [
    'a working set above the limit leaves nothing, not less',
    { ...load, workingSetBytes: 2000 },
    0,
    [1000, 0],
  ],
  ['huge pages above the limit leave nothing, not less', load, 5000, [0, 0]],
  ['no limit gives no room', { ...load, limitBytes: Number.POSITIVE_INFINITY }, 0, undefined],
  ['a figure that is not a number gives no room', { ...load, usageBytes: Number.NaN }, 0, undefined],
  ['nothing read gives no room', undefined, 0, undefined],
] as const;

for (const [name, given, reserved, want] of cases)
  test(`memoryRoom: ${name}`, () => {
    const room = memoryRoom(7, given, reserved);
    expect(room && [room.capacityBytes, room.availableBytes]).toEqual(want);
  });
