// Describes the changes between two configurations for people: path, when it applies, old and new value. Pure.
// Invariant: the values come from masked configurations, and each is bounded.
import { isObject } from '../base/guards.ts';

type Applies = 'now' | 'new-pods' | 'restart';

export interface DescribedChange {
  readonly path: string;
  readonly applies: Applies;
  /** As JSON; missing if the field is not set or has its zero value. */
  readonly old?: string;
  readonly new?: string;
}

const longestValue = 200;

/** `before` and `after`: masked, in the form of /configz. */
export function describeChanges(
  changes: readonly { readonly path: string; readonly applies: Applies }[],
  before: unknown,
  after: unknown,
): readonly DescribedChange[] {
  return changes.map(({ applies, path }) => {
    const [old, next] = [before, after].map((config) => valueText(config, path));
    return {
      path,
      applies,
      ...(old === undefined ? {} : { old }),
      ...(next === undefined ? {} : { new: next }),
    };
  });
}

function valueText(config: unknown, path: string): string | undefined {
  let value = config;
  for (const step of path.split('.'))
    value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  if (value === undefined) return undefined;
  const text = JSON.stringify(value);
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
}
