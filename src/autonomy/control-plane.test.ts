import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { startComponent } from '../base/component.ts';
import { Aborted, KubeletError } from '../base/errors.ts';
import { ControlPlane, outcomeOf } from './control-plane.ts';

const refused = new KubeletError('unavailable', 'Unreachable', 'connect ECONNREFUSED');
const answer = (code: number): KubeletError => new KubeletError('internal', 'X', 'x', { details: { code } });

describe('outcomeOf', () => {
  for (const [name, err, want] of [
    ['a refused connection', refused, 'failed'],
    ['a name that does not resolve', new Error('getaddrinfo EAI_AGAIN'), 'failed'],
    ['a certificate that a wrong clock rejects', new Error('certificate is not yet valid'), 'failed'],
    ['a deadline', new KubeletError('timeout', 'DeadlineExceeded', 'x'), 'failed'],
    [
      'an answer that is no JSON, as of a captive portal',
      new KubeletError('internal', 'InvalidResponse', 'x'),
      'failed',
    ],
    ['401', answer(401), 'failed'],
    ['403', answer(403), 'answered'],
    ['404', answer(404), 'answered'],
    ['409', answer(409), 'answered'],
    ['429', answer(429), 'failed'],
    ['500', answer(500), 'failed'],
    ['503', answer(503), 'failed'],
    ['an abort', new Aborted('stop'), 'nothing'],
  ] as const)
    test(`${name} → ${want}`, () => expect(outcomeOf(err)).toBe(want));
});

describe('ControlPlane', () => {
  const started = async (): Promise<{ clock: FakeClock; plane: ControlPlane; seen: boolean[] }> => {
    const clock = new FakeClock();
    const plane = new ControlPlane(clock);
    const seen: boolean[] = [];
    plane.changed.subscribe(() => seen.push(plane.isUnreachable()));
    await startComponent(plane, new AbortController().signal);
    return { clock, plane, seen };
  };

  test('is unreachable after three seconds without an answer, whether requests fail or hang', async () => {
    const { clock, plane, seen } = await started();
    plane.failed(refused);
    await clock.advance(2_999);
    expect(plane.isUnreachable()).toBe(false);
    await clock.advance(1);
    expect(seen).toEqual([true]);
    plane.succeeded();
    expect(seen).toEqual([true, false]);
  });

  test('is reachable after an answer, also if it is an error', async () => {
    const { clock, plane, seen } = await started();
    plane.failed(answer(403));
    await clock.advance(60_000);
    expect(seen).toEqual([]);
  });

  test('becomes unreachable later only if requests fail for ten seconds without an answer', async () => {
    const { clock, plane, seen } = await started();
    plane.succeeded();
    plane.failed(refused);
    await clock.advance(60_000);
    expect(seen).toEqual([]);
    plane.succeeded();
    plane.failed(refused);
    await clock.advance(9_000);
    plane.failed(refused);
    expect(seen).toEqual([]);
    await clock.advance(1_000);
    plane.failed(refused);
    expect([seen, plane.lastFailure()]).toEqual([[true], refused]);
  });

  test('does not depend on the wall clock', async () => {
    const { clock, plane } = await started();
    clock.stepWall(-30 * 365 * 86_400_000);
    await clock.advance(3_000);
    expect(plane.isUnreachable()).toBe(true);
  });
});
