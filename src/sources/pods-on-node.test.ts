import { describe, expect, test } from 'vitest';
import { anObservedPod, aSandbox } from '../../test/builders/builders.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { readPodsOnNode } from './pods-on-node.ts';

const [running, down, wanted, stored] = ['a', 'b', 'c', 'd'].map((each) => asPodUid(each.repeat(32)));
const apiPod = '4eb98642-330a-4095-9757-57e9b8835e73';
const never = new Promise<void>(() => undefined);

function rig(firstInspection: Promise<void> = Promise.resolve()) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const observed = new Map<PodUid, ObservedPod>();
  const directories: { list: () => Promise<readonly string[]> } = { list: async () => [`${stored}`, apiPod] };
  const read = readPodsOnNode({
    firstInspection: () => firstInspection,
    observed: { all: () => observed },
    desired: { all: () => [{ uid: asPodUid(`${wanted}`) }] },
    podDirectories: () => directories.list(),
    clock,
    log: textLogger({ write: (line) => lines.push(line), verbosity: new Verbosity(0), clock, pid: 1 }),
  });
  const see = (uid: PodUid | undefined, ready: boolean): void =>
    void observed.set(
      asPodUid(`${uid}`),
      anObservedPod({ containers: [], sandboxes: [aSandbox({ ready })] }),
    );
  return { clock, directories, lines, read, see };
}

describe('readPodsOnNode', () => {
  test('returns static pods from the runtime, the sources and the directories', async () => {
    const { read, see } = rig();
    see(running, true);
    see(down, false);
    see(asPodUid(apiPod), true);
    expect(await read()).toEqual({ running: [running], present: [running, down, wanted, stored] });
  });

  test('waits for the first inspection, but only for five seconds and only once', async () => {
    const { clock, read, see } = rig(never);
    see(running, true);
    let results = 0;
    const count = (): void => void (results += 1);
    const first = read().then(count);
    await clock.advance(4_900);
    expect(results).toBe(0);
    await clock.advance(200);
    await first;
    await read().then(count);
    expect(results).toBe(2);
  });

  test('reports a directory that cannot be listed, and returns what the runtime has', async () => {
    const { directories, lines, read, see } = rig();
    directories.list = () => Promise.reject(new Error('input/output error'));
    see(running, true);
    expect(await read()).toEqual({ running: [running], present: [running, wanted] });
    expect(lines.join('')).toContain('Failed to list pod directories');
  });
});
