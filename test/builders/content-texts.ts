// The content of a volume as a test reads it: per path its mode in octal and its text, and its owner where it has one.
import type { Content } from '../../src/api/ports/volume-host.ts';

export function contentTexts(content: Content): Readonly<Record<string, string>> {
  const lines = [...content].map(([path, { data, mode, owner }]): [string, string] => {
    const by = owner === undefined ? '' : ` of ${owner}`;
    return [path, `${mode.toString(8)}${by} ${Buffer.from(data).toString()}`];
  });
  return Object.fromEntries(lines);
}
