// Checks that every regular expression under src/ runs in linear time on any text: the kubelet has one thread, and text comes
// from pods, registries and networks. Returns one line per fault.
// A pattern for short text has a comment above it, `// regex-bound: 253, a host name`, and is tried with that length only. A
// pattern that is built at run time (`new RegExp`) has a comment with the reason why it is safe, `// regex-made: why`.
import type { SourceFile } from '../layers/layers.ts';
import { type AstNode, isNode, type Module, parseModule, walk } from '../layers/parse.ts';
import { type Pattern, RegexRunner } from './run.ts';

/** A text above this is not short, and its pattern must be linear. */
const maxBound = 10_000;

interface Found extends Pattern {
  readonly place: string;
}

/** `slowMs` is more CPU time than any linear pattern takes. */
export async function checkRegexes(
  files: readonly SourceFile[],
  slowMs?: number,
): Promise<readonly string[]> {
  const faults: string[] = [];
  const found = files.filter(({ path }) => isChecked(path)).flatMap((file) => collect(file, faults));
  const runner = new RegexRunner(slowMs);
  const known = new Map<string, string | undefined>();
  try {
    for (const { place, ...pattern } of found) {
      const key = JSON.stringify(pattern);
      if (!known.has(key)) known.set(key, await runner.slowText(pattern));
      const slow = known.get(key);
      if (slow !== undefined) {
        const bound = pattern.longest === undefined ? '' : ` of ${pattern.longest} characters`;
        faults.push(
          `${place}: /${pattern.source}/${pattern.flags} takes more than linear time on ${slow}${bound}`,
        );
      }
    }
  } finally {
    await runner.close();
  }
  return faults;
}

function isChecked(path: string): boolean {
  return !path.endsWith('.test.ts') && !/^test\/|\/(?:generated|fixtures)\//.test(path);
}

function collect({ path, text }: SourceFile, faults: string[]): readonly Found[] {
  const module = parseModule(path, text);
  const lines = text.split('\n');
  const found: Found[] = [];
  walk(module.ast, (node) => {
    const place = (): string => `${path}:${module.lineAt(node.start)}`;
    const { regex } = node;
    if (node.type === 'Literal' && isPattern(regex)) {
      const longest = boundOf(markerText(module, lines, node, 'regex-bound'), () =>
        faults.push(`${place()}: ${badBound}`),
      );
      found.push({ place: place(), source: regex.pattern, flags: regex.flags, longest });
    }
    if (!isBuiltAtRunTime(node)) return;
    if (markerText(module, lines, node, 'regex-made') === undefined)
      faults.push(
        `${place()}: write the pattern as a literal, or give the reason why it is safe in // regex-made:`,
      );
  });
  return found;
}

const badBound = `regex-bound must be a number of at most ${maxBound}, a comma and what the text is`;

function boundOf(text: string | undefined, report: () => void): number | undefined {
  if (text === undefined) return undefined;
  const bound = Number(/^(\d+), \w/.exec(text)?.[1] ?? Number.NaN);
  if (bound <= maxBound) return bound;
  report();
  return undefined;
}

/** The text of the marker comment on the line itself or above it; other comments may be in between. */
function markerText(
  module: Module,
  lines: readonly string[],
  node: AstNode,
  name: string,
): string | undefined {
  for (let at = module.lineAt(node.start) - 1; at >= 0; at -= 1) {
    const line = lines[at] ?? '';
    const found = line.split(`// ${name}: `)[1];
    if (found !== undefined) return found;
    const isFirst = at === module.lineAt(node.start) - 1;
    if (!isFirst && !/^\s*(?:\/\/|const \w+ =$|\/\*\*|\*)/.test(line)) return undefined;
  }
  return undefined;
}

function isPattern(value: unknown): value is { readonly pattern: string; readonly flags: string } {
  return typeof value === 'object' && value !== null && 'pattern' in value && 'flags' in value;
}

/** `new RegExp(…)` and `RegExp(…)`. */
function isBuiltAtRunTime(node: AstNode): boolean {
  if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return false;
  const { callee } = node;
  return isNode(callee) && callee['name'] === 'RegExp';
}
