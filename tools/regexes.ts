// Checks that every regular expression under src/ takes time in proportion to its text, whatever the text: everything runs
// on one thread, and text comes from pods, registries and networks. Files go in, sentences about what is wrong come out.
// A pattern whose text is short says so on the line above: `// regex-bound: 253, a host name`. It is then tried with that
// length only. A pattern that is made at run time (`new RegExp`) says why that is safe: `// regex-made: why`.
import type { SourceFile } from './layers.ts';
import { type AstNode, isNode, type Module, parseModule, walk } from './layers-parse.ts';
import { type Pattern, RegexRunner } from './regex-run.ts';

/** Above this a text is not short, and the pattern has to be linear. */
const longestBound = 10_000;

interface Found extends Pattern {
  readonly place: string;
}

/** `slowMs`: how long a linear pattern never takes. */
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
      const longest = boundOf(remark(module, lines, node, 'regex-bound'), () =>
        faults.push(`${place()}: ${badBound}`),
      );
      found.push({ place: place(), source: regex.pattern, flags: regex.flags, longest });
    }
    if (!isMade(node)) return;
    if (remark(module, lines, node, 'regex-made') === undefined)
      faults.push(`${place()}: write the pattern as a literal, or say in // regex-made: why it is safe`);
  });
  return found;
}

const badBound = `regex-bound is to be a number of at most ${longestBound} and what the text is`;

function boundOf(text: string | undefined, complain: () => void): number | undefined {
  if (text === undefined) return undefined;
  const bound = Number(/^(\d+), \w/.exec(text)?.[1] ?? Number.NaN);
  if (bound <= longestBound) return bound;
  complain();
  return undefined;
}

/** What a comment of that name says, on the line itself or above it, where other comments may stand between. */
function remark(module: Module, lines: readonly string[], node: AstNode, name: string): string | undefined {
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
function isMade(node: AstNode): boolean {
  if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return false;
  const { callee } = node;
  return isNode(callee) && callee['name'] === 'RegExp';
}
