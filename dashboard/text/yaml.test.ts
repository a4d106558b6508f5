import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { toYaml } from './yaml.ts';

const pod = {
  metadata: { name: 'web', labels: { 'app.kubernetes.io/name': 'web', version: '1.0', on: 'yes' } },
  spec: {
    containers: [
      { name: 'app', args: ['sh', '-c', 'echo "hi"\nsleep 1\n'], ports: [{ containerPort: 80 }], env: [] },
      { name: 'side', image: 'reg:5000/x@sha256:ab', resources: {}, tty: true, note: null },
    ],
    nested: [
      [1, 2],
      ['a: b', '- c', '#d', ' e ', ''],
    ],
  },
};

test('writes what a YAML parser reads as the same value', () => {
  expect(parse(toYaml(pod).join('\n'))).toEqual(pod);
});

test('indents lists under their key as kubectl does', () => {
  expect(toYaml({ a: [{ b: 1, c: 'x' }] })).toEqual(['a:', '- b: 1', '  c: x']);
});

test('shows controls instead of writing them', () => {
  expect(toYaml({ a: 'x\u202ey', b: 'l1\nl2\u001b' })).toEqual([
    'a: "x\\u202ey"',
    'b: |-',
    '  l1',
    '  l2\\u001b',
  ]);
});
