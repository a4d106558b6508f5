// Writes a JSON value as YAML for reading. Strings are plain only where no reader could take them for anything else.
import { visible } from './visible.ts';

const plain = /^[A-Za-z_./][A-Za-z0-9 _./@%+=,-]*$/;
const reserved = new Set('true false null yes no on off y n ~'.split(' '));

export function toYaml(value: unknown): readonly string[] {
  const lines: string[] = [];
  write(value, '', '', lines);
  return lines;
}

/** `lead` is what stands before the value on its first line; the lines below begin with `indent`. */
function write(value: unknown, lead: string, indent: string, lines: string[]): void {
  if (Array.isArray(value)) {
    if (value.length === 0) {
      lines.push(`${lead}[]`);
      return;
    }
    if (lead.trim() !== '' && !lead.endsWith('- ')) lines.push(lead.trimEnd());
    const first = lead.endsWith('- ') ? lead : undefined;
    value.forEach((item: unknown, at) => {
      write(item, `${at === 0 && first !== undefined ? first : indent}- `, `${indent}  `, lines);
    });
    return;
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, each]) => each !== undefined);
    if (entries.length === 0) {
      lines.push(`${lead}{}`);
      return;
    }
    const isItem = lead.endsWith('- ');
    if (lead.trim() !== '' && !isItem) lines.push(lead.trimEnd());
    entries.forEach(([key, each], at) => {
      const before = isItem && at === 0 ? lead : indent;
      const isList = Array.isArray(each) && each.length > 0;
      write(each, `${before}${scalar(key)}: `, isList ? indent : `${indent}  `, lines);
    });
    return;
  }
  if (typeof value === 'string' && value.includes('\n')) {
    const texts = value.replace(/\n$/, '').split('\n');
    lines.push(`${lead}|${value.endsWith('\n') ? '' : '-'}`);
    for (const text of texts) lines.push(`${indent}${visible(text)}`);
    return;
  }
  lines.push(lead + scalar(value));
}

function scalar(value: unknown): string {
  if (typeof value !== 'string') return String(value);
  const isBare = plain.test(value) && !reserved.has(value.toLowerCase()) && !value.endsWith(' ');
  return visible(isBare ? value : JSON.stringify(value));
}
