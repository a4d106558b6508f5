import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { LoopDelayMonitor } from './loop-delay.ts';

const monitors: LoopDelayMonitor[] = [];
afterEach(() => {
  for (const monitor of monitors.splice(0)) monitor.stop();
});

function started(nowMs = () => performance.now()): LoopDelayMonitor {
  const monitor = new LoopDelayMonitor(nowMs);
  monitors.push(monitor);
  monitor.start();
  monitor.watch(120_000);
  return monitor;
}

function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

test('reports a delay that has just ended before the timer could see it', async () => {
  const monitor = started();
  await sleep(120);
  const sinceMs = performance.now();
  block(400);
  expect(monitor.maxSinceMs(sinceMs)).toBeGreaterThanOrEqual(290);
});

test('records a delay, and calls the observer with it', async () => {
  const seen: number[] = [];
  const monitor = started();
  monitor.start((delayMs) => seen.push(delayMs), 100);
  monitor.watch(10_000);
  const sinceMs = performance.now();
  block(400);
  await vi.waitFor(() => expect(Math.max(...seen)).toBeGreaterThanOrEqual(200));
  await sleep(220);
  expect(monitor.maxSinceMs(sinceMs)).toBeGreaterThanOrEqual(200);
});

test('reports delays since the given time, up to one minute back', () => {
  vi.useFakeTimers();
  try {
    let nowMs = 10_000;
    const monitor = started(() => nowMs);
    const tick = (afterMs: number): void => {
      nowMs += afterMs;
      vi.advanceTimersByTime(100);
    };
    tick(900);
    for (let each = 0; each < 20; each++) tick(100);
    expect(monitor.maxSinceMs(nowMs - 1_000)).toBe(0);
    expect(monitor.maxSinceMs(nowMs - 3_000)).toBe(800);
    for (let each = 0; each < 600; each++) tick(100);
    expect(monitor.maxSinceMs(0)).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('reports the longest delay of each quarter of a second', () => {
  vi.useFakeTimers();
  try {
    let nowMs = 10_000;
    const monitor = started(() => nowMs);
    for (const afterMs of [100, 130, 100, 100, 400]) {
      nowMs += afterMs;
      vi.advanceTimersByTime(100);
    }
    expect(monitor.longestSinceMs(10_000)).toEqual([30, 0, 300]);
    expect(monitor.longestSinceMs(10_500)).toEqual([300]);
  } finally {
    vi.useRealTimers();
  }
});

test('reports nothing while it is stopped', () => {
  const monitor = started();
  monitor.stop();
  block(120);
  expect(monitor.maxSinceMs(0)).toBe(0);
});

test('measures only until the requested time', () => {
  vi.useFakeTimers();
  try {
    let nowMs = 10_000;
    const monitor = new LoopDelayMonitor(() => nowMs);
    monitors.push(monitor);
    monitor.start();
    expect(vi.getTimerCount()).toBe(0);
    monitor.watch(1_000);
    monitor.watch(500);
    for (let each = 0; each < 9; each++) {
      nowMs += 100;
      vi.advanceTimersByTime(100);
    }
    expect(vi.getTimerCount()).toBe(1);
    nowMs += 400;
    vi.advanceTimersByTime(100);
    expect(vi.getTimerCount()).toBe(0);
    expect(monitor.maxSinceMs(10_000)).toBe(300);
  } finally {
    vi.useRealTimers();
  }
});
