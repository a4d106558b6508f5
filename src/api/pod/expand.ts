// `$(NAME)` in commands, arguments and values. Pure. Upstream: third_party/forked/golang/expansion.
// Invariants: `$$` is a literal `$`; a name that is not known stays as it was written; one pass over the text, and the result
// is bounded while it is made, since values that refer to each other multiply.
import { KubeletError } from '../../base/errors.ts';

/**
 * differs from upstream: the environment, the command and the arguments of a container may expand to this much together.
 * A larger request no runtime accepts, and a larger command no kernel runs.
 */
export const expansionLimitBytes = 16 * 1024 * 1024;

/** The text with each reference replaced. Throws `tooLarge` where the values it takes have more than `limitBytes`. */
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
  // Once there is no closing parenthesis, there is none for any later reference, and none is looked for.
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
