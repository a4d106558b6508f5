// Hostile pods beside a normal one: whatever a pod prints, writes, serves or requests, the kubelet's event loop is not
// blocked, its memory stays bounded, the neighbour stays ready, the lease is renewed, nothing outside the pod is read
// or changed, and a deleted pod leaves nothing behind.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeOnRig } from './rig/on-rig.ts';
import type { Attack } from './support/hostile/attack.ts';
import { fileAttacks } from './support/hostile/file-attacks.ts';
import { computeViolations } from './support/hostile/node-watch.ts';
import { objectAttacks } from './support/hostile/object-attacks.ts';
import { outputAttacks } from './support/hostile/output-attacks.ts';
import { serverAttacks } from './support/hostile/server-attacks.ts';
import { Target } from './support/hostile/target.ts';

const attacks: readonly Attack[] = [...outputAttacks, ...fileAttacks, ...serverAttacks, ...objectAttacks];

/** Includes the cause, where a wait reports the last state. */
function explain(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  return err.cause === undefined ? err.message : `${err.message}: ${explain(err.cause)}`;
}

describeOnRig('the node withstands', () => {
  let target: Target;
  let withstood = true;

  beforeAll(async () => {
    target = await Target.start();
  });
  afterEach(async () => {
    if (!withstood) {
      console.error(target.kubelet.log.lines().slice(-60).join('\n'));
      await target.recover();
    }
    withstood = true;
  });
  afterAll(() => target.stop());

  for (const attack of attacks)
    test(attack.name, async () => {
      withstood = false;
      await attack.prepare?.(target);
      target.watch.begin();
      const pods = attack.pods(target).map((pod) => target.create(pod));
      const why = await attack
        .check(target)
        .then(() => target.remove(pods))
        .then(() => 'withstood', explain);
      const findings = await target.watch.findings();
      console.info(attack.name, JSON.stringify({ ...findings, faults: findings.faults.length }));
      expect({ why, node: computeViolations(findings) }).toEqual({ why: 'withstood', node: [] });
      withstood = true;
    });
});
