// Splits a command line into its arguments, with quotes and backslashes as a shell has them, and nothing else of a shell. Pure.

export function splitCommand(text: string): readonly string[] {
  const parts: string[] = [];
  let part: string | undefined;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const letter = text.charAt(at);
    if (quote !== '' && letter === quote) quote = '';
    else if (quote === '' && (letter === '"' || letter === "'")) {
      quote = letter;
      part ??= '';
    } else if (letter === '\\' && quote !== "'" && at + 1 < text.length) {
      at += 1;
      part = (part ?? '') + text.charAt(at);
    } else if (quote === '' && /\s/.test(letter)) {
      if (part !== undefined) parts.push(part);
      part = undefined;
    } else part = (part ?? '') + letter;
  }
  return part === undefined ? parts : [...parts, part];
}
