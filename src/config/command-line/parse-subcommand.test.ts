import { describe, expect, test } from 'vitest';
import { parseSubcommand } from './parse-subcommand.ts';

describe('problems', () => {
  const cases = [
    ['man', ['x'], 'unexpected argument "x"'],
    ['man', ['--x'], 'unknown option --x'],
    ['completion', [], 'needs one of bash, zsh, fish'],
    ['completion', ['tcsh'], '"tcsh" is not one of bash, zsh, fish'],
    ['completion', ['bash', 'x'], 'unexpected argument "x"'],
    ['logs', [], 'needs a POD'],
    ['logs', ['a', 'b'], 'unexpected argument "b"'],
    ['logs', ['a', '-x'], 'unknown option -x'],
    ['logs', ['a', '-fx'], 'unknown option -x'],
    ['logs', ['a', '--tail'], '--tail needs a value'],
    ['logs', ['a', '-c'], '-c needs a value'],
    ['logs', ['a', '--follow=maybe'], '--follow takes no value'],
    ['ps', ['-o', 'yaml'], '-o is one of text, wide, json, not "yaml"'],
    ['ps', ['--__proto__'], 'unknown option --__proto__'],
  ] as const;
  for (const [name, args, problem] of cases)
    test(`kubelet ${[name, ...args].join(' ')}`, () =>
      expect(parseSubcommand(name, args)).toEqual({ problem }));
});

describe('arguments and options', () => {
  const cases = [
    ['man', [], undefined, {}],
    ['completion', ['fish'], 'fish', {}],
    ['explain', [], undefined, {}],
    ['ps', ['-w', '-n', 'a', '-owide'], undefined, { watch: true, namespace: 'a', output: 'wide' }],
    ['logs', ['-fp', 'web', '--tail=-1'], 'web', { follow: true, previous: true, tail: '-1' }],
    ['logs', ['-fcapp', 'web'], 'web', { follow: true, container: 'app' }],
    ['logs', ['web', '-c=app', '--grep', '--x'], 'web', { container: 'app', grep: '--x' }],
    ['logs', ['--', '-f'], '-f', {}],
    ['logs', ['a', '--follow=false', '--grep='], 'a', { grep: '' }],
    ['ps', ['-n', 'a', '-n', 'b'], undefined, { namespace: 'b' }],
  ] as const;
  for (const [name, args, argument, options] of cases)
    test(`kubelet ${[name, ...args].join(' ')}`, () =>
      expect(parseSubcommand(name, args)).toEqual({ argument, options: new Map(Object.entries(options)) }));
});
