// Finds words of the project's old dialect in comments, texts, names and documents (words.ts has the list).
// Pure but for `readTexts`. Text in code spans and code blocks is not judged, and neither are paths. A text of upstream's
// that has a listed word is quoted under a comment `upstream's words`, on its line or the one above.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import type { SourceFile } from '../layers/layers.ts';
import { type AstNode, isNode, parseModule, walk } from '../layers/parse.ts';
import { type WordRule, wordRules } from './words.ts';

interface WordFault {
  readonly path: string;
  readonly line: number;
  readonly found: string;
  readonly instead: string;
}

/** A piece of a file to be judged. Its text has the length it has in the file, so that an offset gives the line. */
interface Piece {
  readonly kind: 'prose' | 'names';
  readonly start: number;
  readonly text: string;
}

interface Compiled extends WordRule {
  readonly regex: RegExp;
}

const compiled: readonly Compiled[] = wordRules.map((rule) => ({
  ...rule,
  regex: new RegExp(`\\b${rule.pattern.replaceAll(' ', '\\s+')}\\b`, 'gi'),
}));

export function formatFault({ path, line, found, instead }: WordFault): string {
  return `${path}:${line}: "${found}": write ${instead}`;
}

export function checkLanguage(files: readonly SourceFile[]): readonly WordFault[] {
  return files.flatMap((file) => {
    const { path, text } = file;
    const lines = text.split('\n');
    const fileName = {
      kind: 'names',
      start: 0,
      text: nameWords(basename(path).replace(/\.\w+$/, '')),
    } as const;
    const faults = [fileName, ...piecesOf(file)].flatMap((piece) => judge(path, text, piece));
    return unique(faults.filter(({ line }) => !isQuoted(lines, line)));
  });
}

function judge(path: string, whole: string, { kind, start, text }: Piece): readonly WordFault[] {
  return compiled
    .filter(({ only }) => only === undefined || only === kind)
    .flatMap(({ regex, instead }) =>
      [...text.matchAll(regex)]
        .filter(([found]) => found !== found.toUpperCase())
        .map((match) => ({
          path,
          line: whole.slice(0, start + match.index).split('\n').length,
          found: kind === 'names' ? text : match[0].replaceAll(/\s+/g, ' '),
          instead,
        })),
    );
}

/** A name counts once per file: it takes one renaming. Two equal faults on one line are one. */
function unique(faults: readonly WordFault[]): readonly WordFault[] {
  const seen = new Set<string>();
  return faults.filter(({ line, found, instead }) => {
    const key = JSON.stringify([line, found, instead]);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function isQuoted(lines: readonly string[], line: number): boolean {
  const marker = /(?:\/\/|<!--|#|\/\*\*?)\s*upstream's words\b/i;
  return [lines[line - 1], lines[line - 2]].some((text) => marker.test(text ?? ''));
}

function piecesOf({ path, text }: SourceFile): readonly Piece[] {
  if (/\.(?:ts|mjs)$/.test(path)) return modulePieces(path, text);
  return [{ kind: 'prose', start: 0, text: path.endsWith('.md') ? markdownProse(text) : prose(text) }];
}

function modulePieces(path: string, text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  const literals: { readonly start: number; readonly end: number }[] = [];
  const names = new Set<string>();
  const addName = (name: string, start: number): void => {
    if (names.has(name)) return;
    names.add(name);
    pieces.push({ kind: 'names', start, text: nameWords(name) });
  };
  walk(parseModule(path, text).ast, (node, parents) => {
    if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') {
      addName(String(node['name']), node.start);
      return;
    }
    const value = literalText(node);
    if (value === undefined) return;
    const end = Number(node['end']);
    literals.push({ start: node.start, end });
    if (value === '' || isSpecifier(node, parents.at(-1))) return;
    if (/\s/.test(value))
      pieces.push({ kind: 'prose', start: node.start, text: prose(text.slice(node.start, end)) });
    else if (!value.includes('/')) addName(value, node.start);
  });
  return [
    ...pieces,
    ...comments(
      text,
      literals.toSorted((a, b) => a.start - b.start),
    ),
  ];
}

/** The text of a string, of a part of a template or, empty, of a regular expression; undefined for any other node. */
function literalText(node: AstNode): string | undefined {
  const { value } = node;
  if (node.type === 'TemplateElement') {
    const cooked: unknown = typeof value === 'object' && value !== null && 'raw' in value ? value.raw : '';
    return typeof cooked === 'string' ? cooked : '';
  }
  if (node.type !== 'Literal') return undefined;
  if (typeof value === 'string') return value;
  return node['regex'] === undefined ? undefined : '';
}

function isSpecifier(node: AstNode, parent: AstNode | undefined): boolean {
  return (
    parent !== undefined &&
    [parent['source'], parent['argument']].some((each) => isNode(each) && each === node)
  );
}

/** Comments outside of the given literals; those on lines that follow each other are one piece. */
function comments(
  text: string,
  literals: readonly { readonly start: number; readonly end: number }[],
): readonly Piece[] {
  const found: { start: number; end: number }[] = [];
  const pattern = /\/\/[^\n]*|\/\*[^]*?\*\//g;
  let next = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const start = match.index;
    while ((literals[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next += 1;
    const literal = literals[next];
    if (literal !== undefined && literal.start <= start) {
      pattern.lastIndex = literal.end;
      continue;
    }
    const last = found.at(-1);
    const isContinued = last !== undefined && /^\n[ \t]*$/.test(text.slice(last.end, start));
    if (isContinued && match[0].startsWith('//')) last.end = pattern.lastIndex;
    else found.push({ start, end: pattern.lastIndex });
  }
  return found.map(({ start, end }) => ({ kind: 'prose', start, text: prose(text.slice(start, end)) }));
}

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');

/** Without comment signs, code spans, paths and addresses; every character stays in its place. */
function prose(text: string): string {
  return text
    .replaceAll(/^[ \t]*(?:\/\/|\*(?!\/)|#+)/gm, blank)
    .replaceAll(/`[^`\n]*`/g, blank)
    .replaceAll(/[\w.$*{}@:-]*\/[\w./$*{}@:-]+/g, (path) => (path.startsWith('//') ? path : blank(path)));
}

function markdownProse(text: string): string {
  return prose(text.replaceAll(/^(?:```|~~~)[^]*?^(?:```|~~~)/gm, blank).replaceAll(/\]\([^)\n]*\)/g, blank));
}

/** `isMountedElsewhere`, `is-mounted-elsewhere` → `is mounted elsewhere`. */
function nameWords(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replaceAll(/[^A-Za-z0-9]+/g, ' ')
    .trim();
}

const ownFiles = /^tools\/language\/(?:words|language\.test)\.ts$/;
const skipped =
  /(?:^|\/)(?:node_modules|dist|coverage|\.git|\.run|\.cache|fixtures|golden|generated|proto)(?:\/|$)|^docs\/(?:configuration|flags|feature-gates|wiring)\.md$/;
const judged = /\.(?:ts|mjs|md|sh)$|(?:^|\/)(?:Makefile|kubelet)$/;

/** Every file to be judged, with paths from the root. */
export function readTexts(root: string): readonly SourceFile[] {
  const below = (directory: string): readonly string[] =>
    readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
      const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
      if (skipped.test(path)) return [];
      if (entry.isDirectory()) return below(path);
      return entry.isFile() && judged.test(path) && !ownFiles.test(path) ? [path] : [];
    });
  return below('')
    .toSorted()
    .map((path) => ({
      path: relative(root, join(root, path)),
      text: readFileSync(join(root, path), 'utf8'),
    }));
}
