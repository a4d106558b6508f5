// Makes characters visible that a reader would not see, or that would reorder what is read: controls, bidirectional
// overrides and invisible spaces. A name must never look like another one.

/** For names and single lines. */
export function visible(text: string): string {
  return replaced(text, false);
}

/** For text of several lines: keeps line breaks and tabs. */
export function visibleLines(text: string): string {
  return replaced(text, true);
}

function replaced(text: string, keepsLines: boolean): string {
  let out = '';
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (!isHidden(code) || (keepsLines && (code === 9 || code === 10))) continue;
    out += text.slice(from, at) + symbolOf(code);
    from = at + 1;
  }
  return from === 0 ? text : out + text.slice(from);
}

/** True for controls, bidirectional marks and invisible separators. */
export function isHidden(code: number): boolean {
  if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code === 0xad || code === 0x61c) return true;
  if (code < 0x180e) return false;
  return (
    code === 0x180e ||
    (code >= 0x200b && code <= 0x200f) ||
    (code >= 0x2028 && code <= 0x202e) ||
    (code >= 0x2060 && code <= 0x206f) ||
    code === 0xfeff
  );
}

function symbolOf(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Keeps the beginning and the end, which distinguish the names of pods of one owner. */
export function truncateMiddle(text: string, longest: number): string {
  const points = Array.from(text);
  if (points.length <= longest) return text;
  const end = Math.floor((longest - 1) / 2);
  const begin = longest - 1 - end;
  return `${points.slice(0, begin).join('')}…${points.slice(points.length - end).join('')}`;
}
