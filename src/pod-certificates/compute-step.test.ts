import { describe, expect, test } from 'vitest';
import type { PodCertificateRequest } from '../api/k8s/types.ts';
import { describeError } from '../base/errors.ts';
import { Secret } from '../base/log/secret.ts';
import { computeStep } from './compute-step.ts';
import {
  bundleOf,
  type CredentialState,
  type IssuedCertificate,
  isVisibleChange,
  type PendingRequest,
  stateLabel,
} from './credential-state.ts';

const nowMs = Date.UTC(2026, 10, 18, 12);
const minuteMs = 60_000;
const never = Number.POSITIVE_INFINITY;
const iso = (ms: number): string => new Date(ms).toISOString();

const pem = (text: string): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(text).toString('base64')}\n-----END CERTIFICATE-----\n`;
const pending = (over: Partial<PendingRequest> = {}): PendingRequest => ({
  key: new Secret('new key'),
  namespace: 'ns',
  name: 'req-1',
  uid: 'u1',
  createdAtMs: nowMs,
  abandonAtMs: nowMs + 10 * minuteMs,
  ...over,
});
const certificate = (over: Partial<IssuedCertificate> = {}): IssuedCertificate => ({
  key: new Secret('old key'),
  chainPem: pem('old'),
  issuedAtMs: nowMs - 60 * minuteMs,
  beginRefreshAtMs: nowMs + 30 * minuteMs,
  notAfterMs: nowMs + 90 * minuteMs,
  overdueReported: false,
  expiryReported: false,
  ...over,
});
const initial: CredentialState = { is: 'initial' };
const waiting = (over: Partial<PendingRequest> = {}): CredentialState => ({
  is: 'waiting',
  pending: pending(over),
});
const issued = (over: Partial<IssuedCertificate> = {}, renewal?: PendingRequest): CredentialState => ({
  is: 'issued',
  issued: certificate(over),
  pending: renewal,
});

type Status = NonNullable<PodCertificateRequest['status']>;
const request = (status: Status = {}, uid = 'u1'): PodCertificateRequest => ({
  metadata: { namespace: 'ns', name: 'req-1', uid },
  spec: {} as PodCertificateRequest['spec'],
  status,
});
const verdict = (type: string, over: Partial<Status> = {}): PodCertificateRequest =>
  request({
    conditions: [{ type, status: 'True', reason: 'R', message: 'say "why"', lastTransitionTime: '' }],
    ...over,
  });
const issue = (over: Partial<Status> = {}): PodCertificateRequest =>
  verdict('Issued', {
    certificateChain: `comment\n${pem('leaf')}more\n${pem('ca')}`,
    beginRefreshAt: iso(nowMs + 40 * minuteMs),
    notAfter: iso(nowMs + 80 * minuteMs),
    ...over,
  });

const freshCertificate: CredentialState = {
  is: 'issued',
  pending: undefined,
  issued: {
    key: pending().key,
    chainPem: pem('leaf') + pem('ca'),
    issuedAtMs: nowMs,
    beginRefreshAtMs: nowMs + 43 * minuteMs,
    notAfterMs: nowMs + 80 * minuteMs,
    overdueReported: false,
    expiryReported: false,
  },
};
const refusal = (is: 'denied' | 'failed'): CredentialState => ({ is, reason: 'R', message: 'say "why"' });
const overdue = 'CertificateOverdueForRefresh: PodCertificate refresh overdue';
const expired = 'CertificateExpired: PodCertificate expired';

interface Want {
  readonly state: CredentialState;
  readonly create?: boolean;
  readonly events?: readonly string[];
  readonly wakeAtMs?: number;
}
const cases: readonly (readonly [string, CredentialState, PodCertificateRequest | undefined, Want])[] = [
  ['creates the first request', initial, undefined, { state: initial, create: true }],
  ['waits for the verdict without a timer', waiting(), request(), { state: waiting() }],
  [
    'waits for a request that the watch has not reported yet',
    waiting(),
    undefined,
    { state: waiting(), wakeAtMs: nowMs + 10 * minuteMs },
  ],
  [
    'creates another request if the first one was deleted',
    waiting({ abandonAtMs: nowMs }),
    undefined,
    { state: initial, create: true },
  ],
  [
    'does not take the verdict on another request of the same name',
    waiting(),
    { ...issue(), metadata: { namespace: 'ns', name: 'req-1', uid: 'u2' } },
    { state: waiting(), wakeAtMs: nowMs + 10 * minuteMs },
  ],
  [
    'takes the certificate, without text between its blocks, and renews it after the jitter',
    waiting(),
    issue(),
    { state: freshCertificate, wakeAtMs: nowMs + 43 * minuteMs },
  ],
  [
    'takes a denial',
    waiting(),
    verdict('Denied'),
    {
      state: refusal('denied'),
      events: ['Denied: PodCertificateRequest ns/req-1 was denied, reason="R", message="say \\"why\\""'],
    },
  ],
  [
    'takes a failure',
    waiting(),
    verdict('Failed'),
    {
      state: refusal('failed'),
      events: ['Failed: PodCertificateRequest ns/req-1 failed, reason="R", message="say \\"why\\""'],
    },
  ],
  ['ignores unknown conditions', waiting(), verdict('Odd'), { state: waiting() }],
  ['stays denied', refusal('denied'), issue(), { state: refusal('denied') }],
  ['stays failed', refusal('failed'), undefined, { state: refusal('failed') }],
  [
    'keeps a certificate until its renewal',
    issued(),
    undefined,
    { state: issued(), wakeAtMs: nowMs + 30 * minuteMs },
  ],
  [
    'renews a certificate in time, without an event',
    issued({ beginRefreshAtMs: nowMs }),
    undefined,
    { state: issued({ beginRefreshAtMs: nowMs }), create: true, wakeAtMs: nowMs + 10 * minuteMs + 1 },
  ],
  [
    'does not renew within a minute a certificate that is due when it is issued',
    issued({ beginRefreshAtMs: nowMs - minuteMs, issuedAtMs: nowMs - 59_999 }),
    undefined,
    {
      state: issued({ beginRefreshAtMs: nowMs - minuteMs, issuedAtMs: nowMs - 59_999 }),
      wakeAtMs: nowMs + 1,
    },
  ],
  [
    'reports a certificate that could not be renewed for ten minutes',
    issued({ beginRefreshAtMs: nowMs - 11 * minuteMs }),
    undefined,
    {
      state: issued({ beginRefreshAtMs: nowMs - 11 * minuteMs, overdueReported: true }),
      create: true,
      events: [overdue],
      wakeAtMs: nowMs + 90 * minuteMs + 1,
    },
  ],
  [
    'reports an expired certificate, both events at once if the node was suspended',
    issued({ beginRefreshAtMs: nowMs - 60 * minuteMs, notAfterMs: nowMs - 1 }),
    undefined,
    {
      state: issued({
        beginRefreshAtMs: nowMs - 60 * minuteMs,
        notAfterMs: nowMs - 1,
        overdueReported: true,
        expiryReported: true,
      }),
      create: true,
      events: [overdue, expired],
    },
  ],
  [
    'reports each once while the renewal is pending',
    issued(
      { beginRefreshAtMs: nowMs - 60 * minuteMs, notAfterMs: nowMs - 1, overdueReported: true },
      pending(),
    ),
    request(),
    {
      state: issued(
        {
          beginRefreshAtMs: nowMs - 60 * minuteMs,
          notAfterMs: nowMs - 1,
          overdueReported: true,
          expiryReported: true,
        },
        pending(),
      ),
      events: [expired],
    },
  ],
  [
    'wakes to report a pending renewal as overdue',
    issued({ beginRefreshAtMs: nowMs - minuteMs }, pending()),
    request(),
    {
      state: issued({ beginRefreshAtMs: nowMs - minuteMs }, pending()),
      wakeAtMs: nowMs + 9 * minuteMs + 1,
    },
  ],
  [
    'creates the renewal again if its request was deleted, with the report',
    issued({ beginRefreshAtMs: nowMs - 11 * minuteMs }, pending({ abandonAtMs: nowMs })),
    undefined,
    {
      state: issued({ beginRefreshAtMs: nowMs - 11 * minuteMs, overdueReported: true }),
      create: true,
      events: [overdue],
      wakeAtMs: nowMs + 90 * minuteMs + 1,
    },
  ],
  [
    'replaces key and certificate by the renewed ones',
    issued({ overdueReported: true }, pending()),
    issue(),
    { state: freshCertificate, wakeAtMs: nowMs + 43 * minuteMs },
  ],
  [
    'drops the certificate if its renewal is denied',
    issued({}, pending()),
    verdict('Denied'),
    {
      state: refusal('denied'),
      events: ['Denied: PodCertificateRequest ns/req-1 was denied, reason="R", message="say \\"why\\""'],
    },
  ],
];

/** Readable and comparable: keys are masked otherwise. */
const reveal = (state: CredentialState): unknown =>
  JSON.parse(
    JSON.stringify(state, (_, value: unknown) =>
      value instanceof Secret ? (value.reveal() as string) : value,
    ),
  );

for (const [name, state, seen, want] of cases)
  test(name, () => {
    const step = computeStep({ state, request: seen, nowMs, jitterMs: 3 * minuteMs });
    expect({
      state: reveal(step.state),
      create: step.create,
      events: step.events.map(({ reason, message }) => `${reason}: ${message}`),
      wakeAtMs: step.wakeAtMs,
    }).toEqual({ create: false, events: [], wakeAtMs: never, ...want, state: reveal(want.state) });
  });

describe('hostile signers', () => {
  const failure = (status: Partial<Status>): unknown => {
    const { events, state } = computeStep({ state: waiting(), request: issue(status), nowMs, jitterMs: 0 });
    return [state, events.map(({ reason }) => reason)];
  };
  test('a chain of more than 100 KiB fails the request', () => {
    expect(failure({ certificateChain: 'x'.repeat(102_401) })).toEqual([
      {
        is: 'failed',
        reason: 'InvalidCertificate',
        message: 'the certificate chain has 102401 bytes, at most 102400 are allowed',
      },
      ['Failed'],
    ]);
  });
  test.each([{ beginRefreshAt: '' }, { notAfter: 'soon' }])(
    'times that cannot be parsed fail it: %o',
    (status) => {
      expect(failure(status)).toMatchObject([{ is: 'failed', reason: 'InvalidCertificate' }, ['Failed']]);
    },
  );
  test('an endless message is truncated', () => {
    const request = verdict('Denied');
    const [condition] = request.status?.conditions ?? [];
    if (condition !== undefined) condition.message = 'x'.repeat(1_000_000);
    const { state } = computeStep({ state: waiting(), request, nowMs, jitterMs: 0 });
    expect(state.is === 'denied' && state.message.length).toBe(4096);
  });
});

test('volumes get the bundle or the reason for having none', () => {
  const textOf = (state: CredentialState): string => {
    try {
      const { chainPem, key } = bundleOf(state);
      return key.reveal() + chainPem;
    } catch (err) {
      return describeError(err);
    }
  };
  expect([initial, waiting(), issued(), refusal('denied'), refusal('failed')].map(textOf)).toEqual([
    'credential bundle is not issued yet',
    'credential bundle is not issued yet',
    `old key${pem('old')}`,
    'PodCertificateRequest was permanently denied: reason="R" message="say \\"why\\""',
    'PodCertificateRequest was permanently failed: reason="R" message="say \\"why\\""',
  ]);
});

test('volumes are written again for a new certificate or a refusal only', () => {
  const [first, second] = [issued(), issued()];
  const changes: readonly (readonly [CredentialState, CredentialState, boolean])[] = [
    [initial, waiting(), false],
    [waiting(), initial, false],
    [waiting(), first, true],
    [first, second, true],
    [first, first.is === 'issued' ? { ...first, pending: pending() } : first, false],
    [first, refusal('denied'), true],
    [waiting(), refusal('failed'), true],
    [refusal('failed'), refusal('failed'), false],
  ];
  expect(changes.map(([before, after]) => isVisibleChange(before, after))).toEqual(
    changes.map(([, , want]) => want),
  );
});

test('the metric has the states of upstream', () => {
  const states = [
    initial,
    waiting(),
    refusal('denied'),
    refusal('failed'),
    issued(),
    issued({ beginRefreshAtMs: nowMs - 11 * minuteMs }, pending()),
    issued({ notAfterMs: nowMs - 1 }),
  ];
  expect(states.map((state) => stateLabel(state, nowMs))).toEqual([
    'not_yet_issued',
    'not_yet_issued',
    'denied',
    'failed',
    'fresh',
    'overdue_for_refresh',
    'expired',
  ]);
});
