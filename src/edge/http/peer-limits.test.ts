import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { defaultHttpLimits } from './http-limits.ts';
import { PeerLimits } from './peer-limits.ts';

const limits = {
  ...defaultHttpLimits,
  handshakesAtOnce: 20,
  handshakesPerSecond: 50,
  knownHandshakesPerSecond: 200,
};
let peers: PeerLimits;
let started = 0;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'setInterval', 'clearInterval', 'clearTimeout'] });
  peers = new PeerLimits(limits);
  started = 0;
});
afterEach(() => {
  peers.close();
  vi.useRealTimers();
});

let ports = 0;
function connect(remoteAddress: string, onStart?: () => void): Socket {
  const socket = Object.defineProperties(new Socket(), {
    remoteAddress: { value: remoteAddress },
    remotePort: { value: ++ports },
  });
  peers.enter(socket, true, () => {
    started++;
    onStart?.();
  });
  return socket;
}

test('starts few handshakes at once, even if many addresses connect together', () => {
  for (let each = 0; each < 100; each++) connect(`10.0.0.${each}`);
  expect(started).toBe(20);
  vi.advanceTimersByTime(1_000);
  expect(started).toBeGreaterThanOrEqual(68);
  expect(started).toBeLessThanOrEqual(70);
});

test('starts the handshake of a new address before those of waiting addresses, whose clients may have disconnected', () => {
  for (let each = 0; each < 100; each++) connect(`10.0.0.${each}`);
  let isStarted = false;
  connect('10.0.1.1', () => {
    isStarted = true;
  });
  expect(isStarted).toBe(false);
  vi.advanceTimersByTime(60);
  expect(isStarted).toBe(true);
});

test('starts few handshakes at once of a known address, and the others soon', () => {
  const client = peers.clientOf(connect('10.0.0.1'));
  if (client !== undefined) peers.admit(client);
  vi.advanceTimersByTime(1_000);
  started = 0;
  for (let each = 0; each < 100; each++) connect('10.0.0.1');
  expect(started).toBe(20);
  vi.advanceTimersByTime(100);
  expect(started).toBeLessThanOrEqual(40);
  vi.advanceTimersByTime(400);
  expect(started).toBe(100);
});
