// `$(NAME)` in commands, arguments and values. Pure. Upstream: third_party/forked/golang/expansion.
// Invariants: `$$` is a literal `$`; an unknown reference stays unchanged; one pass over the text; the result is bounded while
// it is built, since nested references multiply.
import { KubeletError } from '../../base/errors.ts';

/**
 * differs from upstream: limits the expanded environment, command and arguments of a container together.
 * No runtime accepts a larger request, and no kernel runs a larger command.
 */
export const expansionLimitBytes = 16 * 1024 * 1024;

/** Replaces each reference. Throws `tooLarge` if the values exceed `limitBytes`. */
export function expandVariables(
  text: string,
  values: { get(name: string): string | undefined },
  limitBytes = expansionLimitBytes,
  tooLarge = expansionTooLarge,
): string {
  let result = '';
  let copied = 0;
  let left = limitBytes;
  let dollar = text.indexOf('$');
  // Without a closing parenthesis here there is none for any later reference either: do not search again.
  let isClosed = true;
  while (dollar >= 0 && dollar + 1 < text.length) {
    const next = text[dollar + 1];
    let end = dollar + 2;
    if (next === '$') {
      result += text.slice(copied, dollar + 1);
      copied = end;
    } else if (next === '(' && isClosed) {
      const close = text.indexOf(')', end);
      isClosed = close >= 0;
      const value = isClosed ? values.get(text.slice(end, close)) : undefined;
      if (isClosed) end = close + 1;
      if (value !== undefined) {
        left -= Buffer.byteLength(value);
        if (left < 0) throw tooLarge();
        result += text.slice(copied, dollar) + value;
        copied = end;
      }
    }
    dollar = text.indexOf('$', end);
  }
  return copied === 0 ? text : result + text.slice(copied);
}

export function expansionTooLarge(): KubeletError {
  const size = `${expansionLimitBytes / 1024 / 1024} MiB`;
  const message = `environment, command and args take more than ${size} after expanding $(VAR) references`;
  return new KubeletError('invalid', 'ExpansionTooLarge', message);
}
