import { expect, test } from 'vitest';
import { OwnNode } from './own-node.ts';

test('has synced once the node was seen, not after an empty list, and stays so after its deletion', () => {
  const own = new OwnNode();
  const synced: boolean[] = [];
  own.changed.subscribe(() => synced.push(own.hasSynced()));
  own.replace([]);
  own.upsert({ metadata: { name: 'n' } });
  own.remove();
  expect([synced, own.get()]).toEqual([[false, true, true], undefined]);
});
