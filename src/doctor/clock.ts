// Judges the clock: synchronized, plausible, and equal to that of the API server. Pure.
import type { ApiServerFacts, ClockFacts } from './facts.ts';
import { type Fact, type Finding, fail, ok, warn } from './finding.ts';
import { dateText, spanText } from './units.ts';

/** No machine that runs this release lives outside of these years. */
const plausibleYears = { first: 2025, last: 2100 };

const synchronize = 'timedatectl set-ntp true, or install chrony';

export function judgeClock({ isSynchronized, nowMs }: ClockFacts): Finding {
  const year = new Date(nowMs).getUTCFullYear();
  if (year < plausibleYears.first || year > plausibleYears.last)
    return fail(`it is ${dateText(nowMs)}, so every certificate is invalid`, synchronize);
  if (isSynchronized === false)
    return warn(
      `${dateText(nowMs)}, and not synchronized by NTP`,
      `${synchronize}; in a virtual machine the host may keep it`,
    );
  if (isSynchronized === undefined)
    return warn(`${dateText(nowMs)}; whether it is synchronized is not known`, 'timedatectl');
  return ok(`${dateText(nowMs)}, synchronized`);
}

/** The header has whole seconds, and the answer took its time. */
const headerMs = 1_000;
const warnMs = 5_000;
/** Tokens and leases no longer agree. */
const failMs = 60_000;

export function judgeSkew(api: Fact<ApiServerFacts>): Finding {
  if (!api.isKnown || api.value.dateMs === undefined)
    return ok('not compared: the API server did not send its time');
  const { dateMs, nowMs, roundTripMs } = api.value;
  const skewMs = nowMs - dateMs;
  const toleranceMs = headerMs + roundTripMs;
  const finding = `this machine is ${spanText(skewMs)} ${skewMs < 0 ? 'behind' : 'ahead of'} the API server`;
  if (Math.abs(skewMs) > failMs + toleranceMs) return fail(finding, synchronize);
  if (Math.abs(skewMs) > warnMs + toleranceMs) return warn(finding, synchronize);
  return ok('as that of the API server');
}
