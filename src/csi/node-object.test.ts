import { expect, test } from 'vitest';
import type { Node } from '../api/k8s/types.ts';
import type { DriverInfo } from './driver-info.ts';
import { driverPatch, driverRemovalPatch } from './node-object.ts';

const annotation = 'csi.volume.kubernetes.io/nodeid';
const info = (changes: Partial<DriverInfo> = {}): DriverInfo => ({
  driver: 'd',
  nodeId: 'i-1',
  maxVolumes: 0n,
  topology: {},
  ...changes,
});
const node = (ids?: string, labels: Record<string, string> = {}): Node => ({
  metadata: { name: 'n', labels, ...(ids === undefined ? {} : { annotations: { [annotation]: ids } }) },
});
const ids = (text: string | null) => ({ metadata: { annotations: { [annotation]: text } } });

const cases: readonly (readonly [string, unknown, unknown])[] = [
  ['adds the node ID', driverPatch(node(), info()), ids('{"d":"i-1"}')],
  ['sorts drivers, as Go does', driverPatch(node('{"e":"x"}'), info()), ids('{"d":"i-1","e":"x"}')],
  ['escapes, as Go does', driverPatch(node(), info({ nodeId: 'a<b' })), ids('{"d":"a\\u003cb"}')],
  ['replaces another node ID', driverPatch(node('{"d":"old"}'), info()), ids('{"d":"i-1"}')],
  ['nothing changes → nothing', driverPatch(node('{ "d": "i-1" }'), info()), undefined],
  [
    'adds missing labels only',
    driverPatch(node('{"d":"i-1"}', { zone: 'a' }), info({ topology: { zone: 'a', region: 'r' } })),
    { metadata: { labels: { region: 'r' } } },
  ],
  ['removes one node ID', driverRemovalPatch(node('{"d":"i-1","e":"x"}'), 'd'), ids('{"e":"x"}')],
  ['removes the annotation with the last', driverRemovalPatch(node('{"d":"i-1"}'), 'd'), ids(null)],
  ['a driver without node ID → nothing', driverRemovalPatch(node('{"e":"x"}'), 'd'), undefined],
  ['no annotation → nothing', driverRemovalPatch(node(), 'd'), undefined],
];
for (const [name, patch, want] of cases) test(name, () => expect(patch).toEqual(want));

test('a label with another value is a collision, and nothing is written', () => {
  expect(() => driverPatch(node(undefined, { zone: 'b' }), info({ topology: { zone: 'a' } }))).toThrow(
    'detected topology value collision: driver reported "zone":"a" but existing label is "zone":"b"',
  );
});

for (const text of ['{', '[]', '{"d":1}', 'x'.repeat(100_000)])
  test(`an annotation that is no map of strings is an error: ${text.slice(0, 10)}`, () =>
    expect(() => driverPatch(node(text), info())).toThrow(
      /^failed to parse node's "csi\.volume\.kubernetes\.io\/nodeid" annotation value \(.{0,300}\) err=/,
    ));
