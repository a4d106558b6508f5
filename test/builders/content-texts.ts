// The content of a volume for assertions: per path its mode in octal, its text, and its owner if it has one.
import type { Content } from '../../src/api/ports/volume-host.ts';

export function contentTexts(content: Content): Readonly<Record<string, string>> {
  const lines = [...content].map(([path, { data, mode, owner }]): [string, string] => {
    const by = owner === undefined ? '' : ` of ${owner}`;
    return [path, `${mode.toString(8)}${by} ${Buffer.from(data).toString()}`];
  });
  return Object.fromEntries(lines);
}
