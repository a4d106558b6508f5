// A time as an age or a time of day, with the exact time as its tooltip.
import { useNow } from '../data/use-page.ts';
import { age, isoTime, timeOfDay } from '../text/format.ts';

export function Ago({ atMs }: { readonly atMs: number | undefined }) {
  const nowMs = useNow();
  if (atMs === undefined) return <>–</>;
  return (
    <time dateTime={isoTime(atMs)} title={isoTime(atMs)}>
      {age(nowMs - atMs)}
    </time>
  );
}

export function At({ atMs }: { readonly atMs: number }) {
  const nowMs = useNow(60_000);
  return (
    <time dateTime={isoTime(atMs)} title={isoTime(atMs)}>
      {timeOfDay(atMs, nowMs)}
    </time>
  );
}
