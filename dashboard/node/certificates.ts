// Days that are left of certificates, and when that is worth a warning.
import type { Tone } from '../parts/tone.ts';

const dayMs = 24 * 60 * 60 * 1_000;

export function daysLeft(notAfterMs: number, nowMs: number): number {
  return Math.floor((notAfterMs - nowMs) / dayMs);
}

export function certificateTone(days: number): Tone {
  if (days < 7) return 'bad';
  return days < 30 ? 'busy' : 'good';
}

export function certificateWords(days: number): string {
  if (days < 0) return 'expired';
  return days === 1 ? '1 day' : `${days} days`;
}
