import { describe, expect, test } from 'vitest';
import { checkLanguage, formatFault } from './language.ts';
import { wordRules } from './words.ts';

function faultsOf(text: string, path = 'src/pods/a.ts'): readonly string[] {
  return checkLanguage([{ path, text }]).map(formatFault);
}

const told = (place: string, found = 'told'): string =>
  `${place}: "${found}": write report, publish, emit, notify, distinguish`;

describe('the word list', () => {
  for (const { fault, fine = [], instead, only, pattern } of wordRules) {
    // A sample without blanks is a name, in a name's place; any other is the text of a comment.
    const judge = (sample: string): readonly string[] =>
      faultsOf(/\s/.test(sample) || only === 'prose' ? `// ${sample}` : `const ${sample} = 1;`);
    test.each(fault)(`${pattern} is found in: %s`, (sample) =>
      expect(judge(sample).some((line) => line.endsWith(`write ${instead}`))).toBe(true),
    );
    if (fine.length > 0)
      test.each(fine)(`${pattern} is not found in: %s`, (sample) =>
        expect(judge(sample).filter((line) => line.endsWith(`write ${instead}`))).toEqual([]),
      );
  }
});

describe('a module', () => {
  test.each([
    ['line comments', 'const a = 1; // told\n'],
    ['block comments', '/** told */\n'],
    ['strings', "const a = 'was told';"],
    ['templates', 'const a = `${1} was told`;'],
    ['identifiers', 'const told = 1;'],
    ['private fields', 'class A { #told = 1; }'],
    ['property keys', 'const a = { told: 1 };'],
    ['one-word strings, as names', "const a = 'told';"],
  ])('is judged in its %s', (_, text) => expect(faultsOf(text)).toEqual([told('src/pods/a.ts:1')]));

  test.each([
    ['import paths', "import a from './told.ts';"],
    ['regular expressions', 'const a = /was told/;'],
    ['code spans of comments', '// see `told`'],
    ['paths in strings and comments', "// docs/told.md and https://x/told\nconst a = 'see /var/told now';"],
    ['constants in capitals', "const a = '$(TOLD) is a variable';"],
  ])('is not judged in its %s', (_, text) => expect(faultsOf(text)).toEqual([]));

  test('a phrase that is broken over two comment lines is found at its first', () =>
    expect(faultsOf('const a = 1;\n// what goes\n// on here\n')).toEqual([
      'src/pods/a.ts:2: "goes on": write continue, proceed, be in flight',
    ]));

  test('comment signs inside of strings begin no comment', () =>
    expect(faultsOf("const a = ['//', 'fine', `/*`];\nconst b = 'told b';")).toEqual([
      told('src/pods/a.ts:2'),
    ]));

  test('an identifier counts once per file', () =>
    expect(faultsOf('const isTold = 1;\nconst a = isTold + isTold;')).toEqual([
      told('src/pods/a.ts:1', 'is Told'),
    ]));

  test('its file name is judged', () =>
    expect(faultsOf('', 'src/pods/told-pod.ts')).toEqual([told('src/pods/told-pod.ts:1', 'told pod')]));

  test.each([
    ['the line above', "// upstream's words\nconst a = 'was told';"],
    ['the same line', "const a = 'was told'; // upstream's words"],
  ])('a text marked on %s as upstream’s is no fault', (_, text) => expect(faultsOf(text)).toEqual([]));

  test('the phrase inside of another comment is no mark', () =>
    expect(faultsOf("// The events, in upstream's words.\nconst a = 'was told';")).toEqual([
      told('src/pods/a.ts:2'),
    ]));

  test('the mark does not reach further', () =>
    expect(faultsOf("// upstream's words\nconst a = 1;\nconst b = 'was told';")).toEqual([
      told('src/pods/a.ts:3'),
    ]));
});

describe('a document', () => {
  const at = (text: string): readonly string[] => faultsOf(text, 'docs/a.md');
  test('is judged in its prose', () => expect(at('# A\n\nit was told\n')).toEqual([told('docs/a.md:3')]));
  test.each([
    ['code blocks', '```\ntold\n```\n'],
    ['code spans', 'a `told` b'],
    ['link targets', 'see [it](told.md)'],
    ['paths', 'see test/suites/told.test.ts'],
    ['marked lines', "<!-- upstream's words -->\nit was told"],
  ])('is not judged in its %s', (_, text) => expect(at(text)).toEqual([]));
});
