// The in-memory form of a Go time.Time: seconds since the year 1 and the machine's time zone with all its rules.
// differs from upstream: the zone is always that of a machine whose /etc/localtime is UTC. Upstream's hash of a manifest with a
// timestamp depends on the machine's zone and, with daylight saving time, on the season; manifests written by hand or by
// kubeadm have only null timestamps. Upstream: Go's time.Time and time.Location.
import { KubeletError } from '../../../base/errors.ts';
import { isAbsent, type Json, plainText } from './json-value.ts';

interface GoTime {
  /** Nanoseconds within the second. */
  readonly wall: number;
  /** Seconds since January 1 of the year 1. */
  readonly ext: number;
  readonly set: boolean;
}

const secondsFromYearOneToEpoch = 62_135_596_800;

export function readGoTime(json: Json): GoTime {
  if (isAbsent(json)) return { wall: 0, ext: 0, set: false };
  const text = plainText(json, '');
  const seconds = Date.parse(text.replace(/[.,]\d+/, '')) / 1000;
  if (Number.isNaN(seconds))
    throw new KubeletError('invalid', 'InvalidTime', `${JSON.stringify(text)} is not a time`);
  const fraction = /[.,](\d+)/.exec(text)?.[1] ?? '';
  return {
    wall: Number(fraction.slice(0, 9).padEnd(9, '0')),
    ext: seconds + secondsFromYearOneToEpoch,
    set: true,
  };
}

const utc = '{name:(string)UTC offset:(int)0 isDST:(bool)false}';
const minInt64 = '-9223372036854775808';
const maxInt64 = '9223372036854775807';

/** The Location of a machine whose /etc/localtime is UTC. */
export function printLocation(): string {
  return (
    `{name:(string)Local zone:([]time.zone)[${utc}]` +
    ` tx:([]time.zoneTrans)[{when:(int64)${minInt64} index:(uint8)0 isstd:(bool)false isutc:(bool)false}]` +
    ` extend:(string)UTC0 cacheStart:(int64)${minInt64} cacheEnd:(int64)${maxInt64} cacheZone:(*time.zone)${utc}}`
  );
}
