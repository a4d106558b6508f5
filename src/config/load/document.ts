// Parses one YAML or JSON document into plain values, and knows the line of each of them.
// The scalars are those of Go's YAML parser: YAML 1.1 (yes, on, 0x1f, 017) without timestamps, sets and binaries.
// Invariants: never throws; a syntax error is a problem with path and line, and without the text, which may be a credential.
import { type Document, isMap, isNode, isPair, isScalar, LineCounter, parseAllDocuments, visit } from 'yaml';
import { describeError } from '../../base/errors.ts';
import type { Problem } from '../problem.ts';

export type Path = readonly (string | number)[];

interface ParsedDocument {
  /** Undefined when the text is not a document. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
  /** "file:3: a.b[0]" */
  where(path: Path): string;
}

const skippedTags: ReadonlySet<string> = new Set(['timestamp', 'set', 'omap', 'pairs', 'binary']);
const maxAliases = 100;

export function parseDocument(name: string, text: string): ParsedDocument {
  const lines = new LineCounter();
  const [document, ...more] = parseAll(text, lines);
  if (document === undefined) return { value: undefined, problems: [], warnings: [], where: () => name };
  const where = (path: Path): string => `${name}:${lineOf(document, path, lines)}: ${pathText(path)}`;
  const problems: Problem[] = [...duplicateKeys(name, document, lines)];
  const syntaxErrors = document.errors.filter(({ code }) => code !== 'DUPLICATE_KEY');
  for (const { message, pos } of syntaxErrors) {
    const { line, col } = lines.linePos(pos[0]);
    problems.push({ where: `${name}:${line}:${col}`, message: withoutSource(message) });
  }
  const extra = more.some((other) => other.contents !== null);
  const warnings = extra ? [`${name} has more than one document; only the first is read.`] : [];
  // The values after a syntax error would only be misleading.
  if (syntaxErrors.length > 0) return { value: undefined, problems, warnings, where };
  try {
    return { value: document.toJS({ maxAliasCount: maxAliases }) as unknown, problems, warnings, where };
  } catch (err) {
    problems.push({ where: name, message: withoutSource(describeError(err)) });
    return { value: undefined, problems, warnings, where };
  }
}

function parseAll(text: string, lineCounter: LineCounter): readonly Document.Parsed[] {
  const parsed = parseAllDocuments(text.replace(/^\uFEFF/, ''), {
    version: '1.1',
    lineCounter,
    prettyErrors: false,
    intAsBigInt: true,
    logLevel: 'silent',
    customTags: (tags) =>
      tags.filter((tag) => {
        if (typeof tag === 'string') return !skippedTags.has(tag);
        // The sexagesimal numbers: Go parses 1:30 as a string.
        return tag.format !== 'TIME' && !skippedTags.has(tag.tag.slice(tag.tag.lastIndexOf(':') + 1));
      }),
  });
  return Array.isArray(parsed) ? parsed : [];
}

function duplicateKeys(name: string, document: Document, lines: LineCounter): readonly Problem[] {
  if (!document.errors.some((error) => error.code === 'DUPLICATE_KEY')) return [];
  const problems: Problem[] = [];
  visit(document, {
    Map(_key, map, ancestors) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        const word = String(key.value);
        if (seen.has(word)) {
          const path = pathText([...pathOf(ancestors), ...lastStep(ancestors, map), word]);
          const line = lines.linePos(key.range?.[0] ?? 0).line;
          problems.push({ where: `${name}:${line}: ${path}`, message: 'is specified twice' });
        }
        seen.add(word);
      }
    },
  });
  return problems;
}

/** The keys and indexes along a chain of nested nodes. */
function pathOf(chain: readonly unknown[]): Path {
  const path: (string | number)[] = [];
  for (const [index, step] of chain.entries()) {
    if (isPair(step) && isScalar(step.key)) path.push(String(step.key.value));
    else if (index > 0) path.push(...indexIn(chain[index - 1], step));
  }
  return path;
}

function lastStep(chain: readonly unknown[], node: unknown): Path {
  return indexIn(chain.at(-1), node);
}

function indexIn(parent: unknown, node: unknown): readonly number[] {
  const list = parent as { readonly items?: readonly unknown[] } | undefined;
  if (!isNode(parent) || isMap(parent) || list?.items === undefined) return [];
  return [list.items.indexOf(node)];
}

function lineOf(document: Document, path: Path, lines: LineCounter): number {
  for (let length = path.length; length > 0; length -= 1) {
    const offset = offsetOf(document, path.slice(0, length));
    if (offset !== undefined) return lines.linePos(offset).line;
  }
  return 1;
}

/** The offset of the last step of the path: that of the key, not of its value. */
function offsetOf(document: Document, path: Path): number | undefined {
  const parent =
    document.getIn(path.slice(0, -1), true) ?? (path.length === 1 ? document.contents : undefined);
  const last = path.at(-1);
  if (isMap(parent)) {
    const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(last));
    return pair !== undefined && isScalar(pair.key) ? pair.key.range?.[0] : undefined;
  }
  const node = document.getIn(path, true);
  return isNode(node) ? node.range?.[0] : undefined;
}

/** a.b[0].c; a key that is not an identifier is put in brackets. */
export function pathText(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step)}]`;
  }
  return text;
}

/** The parser quotes what it stumbled over after a colon. It may be a credential, and the place is known. */
function withoutSource(message: string): string {
  const quotedAt = message.search(/\S: /);
  return quotedAt === -1 ? (message.split('\n')[0] ?? message) : message.slice(0, quotedAt + 1);
}
