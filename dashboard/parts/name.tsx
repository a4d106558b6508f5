// A name from outside: hidden characters shown, the middle left out if it is long, the whole as its tooltip.
import { truncateMiddle, visible } from '../text/visible.ts';

export function Name({ text, longest = 48 }: { readonly text: string; readonly longest?: number }) {
  const shown = visible(text);
  const short = truncateMiddle(shown, longest);
  return short === shown ? <>{shown}</> : <span title={shown}>{short}</span>;
}
