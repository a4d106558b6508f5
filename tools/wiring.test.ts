import { expect, test } from 'vitest';
import { Channel, mergeChannels } from '../src/base/channel.ts';
import { on, reaction } from '../src/base/component.ts';
import { renderWiring } from './wiring.ts';

function world() {
  const desired = { storeName: 'DesiredPods', writer: 'sources', changed: new Channel<string>() };
  const observed = { storeName: 'ObservedPods', writer: 'pleg', changed: new Channel<string>() };
  const cri = { connectionChanged: new Channel<boolean>() };
  const poke = (): void => undefined;
  const pleg = reaction('pleg', [on(cri.connectionChanged, poke)]);
  const workers = reaction('workers', [on(mergeChannels(desired.changed, observed.changed), poke)]);
  return { desired, observed, cri, pleg, workers };
}

test('names writers, announcements and wake-ups, merged channels included', () => {
  const { cri, desired, observed, pleg, workers } = world();
  const text = renderWiring({
    components: [pleg, workers],
    wiring: { stores: [observed, desired], sources: { cri } },
  });
  expect(text.split('\n').filter((line) => /^\| (Des|Obs|pleg|workers)/.test(line))).toEqual([
    '| DesiredPods | sources | `DesiredPods.changed` | workers |',
    '| ObservedPods | pleg | `ObservedPods.changed` | workers |',
    '| pleg | `cri.connectionChanged` |',
    '| workers | `DesiredPods.changed`, `ObservedPods.changed` |',
  ]);
  expect(text).toContain('  DesiredPods --> workers\n  ObservedPods --> workers\n');
  expect(text).toContain('  pleg -.-> ObservedPods\n');
});

test('a wake-up without a named source is an error', () => {
  const { desired, pleg, workers } = world();
  expect(() =>
    renderWiring({ components: [pleg, workers], wiring: { stores: [desired], sources: {} } }),
  ).toThrow('pleg is woken by a channel that no store announces');
});
