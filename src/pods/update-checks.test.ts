import { expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { startComponent } from '../base/component.ts';
import { silentLogger } from '../base/log/log.ts';
import { UpdateChecks } from './update-checks.ts';

async function rig(declared: readonly string[]) {
  const uid = asPodUid('u');
  const changed = new Channel<PodUid>();
  const events: string[] = [];
  let pod: ReturnType<typeof aPod> | undefined;
  const checks = new UpdateChecks({
    desired: { get: () => (pod === undefined ? undefined : { pod }), changed },
    declared,
    events: { pod: (_pod, { reason, message }) => void events.push(`${reason}: ${message}`) },
    log: silentLogger,
  });
  await startComponent(checks, new AbortController().signal);
  const set = (cpu: string | undefined): void => {
    pod = cpu === undefined ? undefined : aPod({ uid, resources: { requests: { cpu } } });
    changed.push(uid);
  };
  return { events, set };
}

test('an update that needs an undeclared feature is reported once, and a new pod never', async () => {
  const { events, set } = await rig([]);
  set('1');
  expect(events).toEqual([]);
  set('2');
  set('2');
  expect(events).toEqual([
    'FailedNodeDeclaredFeaturesCheck: Pod requires node features that are not available: InPlacePodLevelResourcesVerticalScaling',
  ]);
  set(undefined);
  set('3');
  expect(events).toHaveLength(1);
});

test('an update that needs a declared feature is not reported', async () => {
  const { events, set } = await rig(['InPlacePodLevelResourcesVerticalScaling']);
  set('1');
  set('2');
  expect(events).toEqual([]);
});
