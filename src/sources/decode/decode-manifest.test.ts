import { describe, expect, test } from 'vitest';
import { decodeManifest, maxManifestBytes } from './decode-manifest.ts';

function decode(text: string): ReturnType<typeof decodeManifest> {
  return decodeManifest(Buffer.from(text));
}

const head = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n';

/** The faults of a text without pods; empty if it has any. */
function reasons(text: string): readonly string[] {
  return decode(text).faults.map((fault) => fault.reason);
}

describe('decodes', () => {
  const shapes: readonly (readonly [string, string, readonly string[]])[] = [
    ['a YAML pod', head, ['web']],
    ['a JSON pod', '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}', ['web']],
    [
      'JSON with blanks in front and tabs inside',
      '\n\t {\t"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}\n',
      ['web'],
    ],
    [
      'several JSON values',
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}\n{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}',
      ['a', 'b'],
    ],
    [
      'several YAML documents with empty ones in between',
      `---\n# nothing\n---\n${head}---\n---\n${head.replace('web', 'db')}...\n`,
      ['web', 'db'],
    ],
    ['a byte order mark', `\ufeff${head}`, ['web']],
    ['Windows line endings', head.replaceAll('\n', '\r\n'), ['web']],
    [
      'a PodList whose items have no kind',
      'apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n',
      ['a', 'b'],
    ],
    [
      'a List of pods',
      'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n',
      ['a'],
    ],
    ['an empty PodList', 'apiVersion: v1\nkind: PodList\nitems: []\n', []],
    ['a PodList without items', 'apiVersion: v1\nkind: PodList\n', []],
  ];
  for (const [name, text, names] of shapes)
    test(name, () => {
      const { pods, faults } = decode(text);
      expect(faults).toEqual([]);
      expect(pods.map((pod) => pod.metadata?.name)).toEqual(names);
    });

  test('adds only apiVersion and kind', () => {
    const { pods } = decode(
      `${head}spec: {containers: [{name: a, image: b, ports: [{containerPort: 80}]}]}\n`,
    );
    expect(pods).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'web' },
        spec: { containers: [{ name: 'a', image: 'b', ports: [{ containerPort: 80 }] }] },
      },
    ]);
  });
});

describe('values are decoded as in the API', () => {
  const values: readonly (readonly [string, string, unknown])[] = [
    ['a null field is absent', 'hostNetwork: null\nvolumes: ~\nhostname:', {}],
    [
      'null in a list is an empty item',
      'volumes: [null]\nhostAliases: [{hostnames: [~]}]',
      { volumes: [{}], hostAliases: [{ hostnames: [''] }] },
    ],
    ['a null value of a map is empty', 'nodeSelector: {a: }', { nodeSelector: { a: '' } }],
    [
      'YAML 1.1 booleans',
      'hostNetwork: yes\nhostPID: On\nhostIPC: n',
      { hostNetwork: true, hostPID: true, hostIPC: false },
    ],
    [
      'octal, hexadecimal and binary numbers',
      'priority: 0644\nterminationGracePeriodSeconds: 0x1F\nactiveDeadlineSeconds: 0b101',
      { priority: 420, terminationGracePeriodSeconds: 31, activeDeadlineSeconds: 5 },
    ],
    [
      'numbers with separators and whole floats',
      'priority: 1_000\nterminationGracePeriodSeconds: 3e1',
      { priority: 1000, terminationGracePeriodSeconds: 30 },
    ],
    ['the largest int64', 'activeDeadlineSeconds: 9223372036854775807', { activeDeadlineSeconds: 2 ** 63 }],
    ['a tag makes it a string', 'hostname: !!str 12', { hostname: '12' }],
    ['quotes make it a string', 'hostname: "yes"', { hostname: 'yes' }],
    ['a date is a string', 'hostname: 2020-01-02', { hostname: '2020-01-02' }],
    [
      'quantities keep their spelling',
      'overhead: {cpu: 0.5, memory: 1024Ki, pods: 3, x: " 1 "}',
      { overhead: { cpu: '0.5', memory: '1024Ki', pods: '3', x: '1' } },
    ],
    [
      'ports by number and by name',
      'containers: [{name: a, livenessProbe: {tcpSocket: {port: 80}}, startupProbe: {tcpSocket: {port: http}}}]',
      {
        containers: [
          {
            name: 'a',
            livenessProbe: { tcpSocket: { port: 80 } },
            startupProbe: { tcpSocket: { port: 'http' } },
          },
        ],
      },
    ],
    [
      'keys that are numbers or booleans',
      'nodeSelector: {1: a, yes: b}',
      { nodeSelector: { 1: 'a', true: 'b' } },
    ],
    [
      'anchors and aliases',
      'nodeSelector: &x {a: b}\noverhead: {}\nhostAliases: [{ip: &ip 1.2.3.4}, {ip: *ip}]',
      { nodeSelector: { a: 'b' }, overhead: {}, hostAliases: [{ ip: '1.2.3.4' }, { ip: '1.2.3.4' }] },
    ],
    [
      'a redefined anchor',
      'hostAliases: [{ip: &x a}, {ip: *x}, {ip: &x b}, {ip: *x}]',
      { hostAliases: [{ ip: 'a' }, { ip: 'a' }, { ip: 'b' }, { ip: 'b' }] },
    ],
    [
      'merge keys: own keys win, then the first map',
      'nodeSelector:\n  <<: [{a: 1st, b: 1st}, {b: 2nd, c: 2nd}]\n  c: own',
      { nodeSelector: { a: '1st', b: '1st', c: 'own' } },
    ],
    [
      'a label named like a property of objects',
      'nodeSelector: {__proto__: a, constructor: b}',
      { nodeSelector: JSON.parse('{"__proto__": "a", "constructor": "b"}') },
    ],
    ['a block scalar', 'hostname: |-\n  a\n  b', { hostname: 'a\nb' }],
    ['a binary scalar', 'hostname: !!binary aGk=', { hostname: 'hi' }],
  ];
  for (const [name, spec, want] of values)
    test(name, () => {
      const indented = spec.replaceAll(/^/gm, '  ');
      const { pods, faults } = decode(`${head}spec:\n${indented}\n`);
      expect(faults).toEqual([]);
      expect(pods[0]?.spec ?? {}).toEqual(want);
    });

  test('omits and lists unknown fields', () => {
    const { pods, faults, unknownFields } = decode(
      `${head}spec:\n  contaners: [1]\n  hostNetwork: true\nmore: {}\n`,
    );
    expect(faults).toEqual([]);
    expect(pods[0]?.spec).toEqual({ hostNetwork: true });
    expect(unknownFields).toEqual(['spec.contaners (line 5)', 'more (line 7)']);
  });

  test('treats field names as case-sensitive', () => {
    expect(decode(`${head}Spec: {}\n`).unknownFields).toEqual(['Spec (line 4)']);
  });
});

describe('reports mismatches with line and path', () => {
  const misfits: readonly (readonly [string, string])[] = [
    ['containers: x', 'line 4: spec.containers: must be a list, not a string'],
    ['containers: {}', 'line 4: spec.containers: must be a list, not a map'],
    ['containers: [x]', 'line 4: spec.containers[0]: must be a map, not a string'],
    ['containers: [{name: 1}]', 'line 4: spec.containers[0].name: must be a string, not the number 1'],
    [
      'containers: [{env: [{value: yes}]}]',
      'line 4: spec.containers[0].env[0].value: must be a string, not the boolean true',
    ],
    [
      'containers: [{ports: [{containerPort: http}]}]',
      'line 4: spec.containers[0].ports[0].containerPort: must be a whole number, not a string',
    ],
    [
      'containers: [{ports: [{containerPort: 80.5}]}]',
      'line 4: spec.containers[0].ports[0].containerPort: must be a whole number, not the number 80.5',
    ],
    [
      'containers: [{ports: [{containerPort: 2147483648}]}]',
      'line 4: spec.containers[0].ports[0].containerPort: 2147483648 is out of range',
    ],
    [
      'containers: [{livenessProbe: {tcpSocket: {port: true}}}]',
      'line 4: spec.containers[0].livenessProbe.tcpSocket.port: must be a whole number or a string, not the boolean true',
    ],
    [
      'terminationGracePeriodSeconds: 9223372036854775808',
      'line 4: spec.terminationGracePeriodSeconds: 9223372036854775808 is out of range',
    ],
    ['hostNetwork: "true"', 'line 4: spec.hostNetwork: must be true or false, not a string'],
    ['nodeSelector: [a]', 'line 4: spec.nodeSelector: must be a map, not a list'],
    ['nodeSelector: {a: 1}', 'line 4: spec.nodeSelector[a]: must be a string, not the number 1'],
    ['overhead: {cpu: []}', 'line 4: spec.overhead[cpu]: must be a quantity, not a list'],
  ];
  for (const [spec, want] of misfits)
    test(spec, () => expect(reasons(`${head}spec: {${spec}}\n`)).toEqual([want]));

  test('an invalid quantity', () => {
    expect(reasons(`${head}spec: {overhead: {cpu: 1 cup}}\n`)[0]).toMatch(
      /^line 4: spec\.overhead\[cpu\]: "1 cup" is not a quantity/,
    );
  });

  test('an invalid time', () => {
    expect(reasons(head.replace('}', ', creationTimestamp: today}'))).toEqual([
      'line 3: metadata.creationTimestamp: must be a time like 2006-01-02T15:04:05Z',
    ]);
  });

  test('several mismatches, up to a limit', () => {
    const many = reasons(`${head}spec:\n  volumes: 1\n  hostNetwork: 2\n`);
    expect(many).toEqual([
      'line 5: spec.volumes: must be a list, not the number 1; line 6: spec.hostNetwork: must be true or false, not the number 2',
    ]);
    const endless = reasons(`${head}spec: {volumes: [${'1, '.repeat(500)}]}\n`)[0] ?? '';
    expect(endless).toMatch(/; and 492 more$/);
  });

  test('with the index inside a list', () => {
    expect(reasons('apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n  spec: 1\n')).toEqual([
      'line 5: items[0].spec: must be a map, not the number 1',
    ]);
  });
});

describe('rejects with a reason', () => {
  const refusals: readonly (readonly [string, string, string | RegExp])[] = [
    ['nothing', '', 'the file is empty'],
    ['only comments', '# a\n---\n# b\n', 'the file has no document in it'],
    [
      'prose',
      'hello world\n',
      'line 1: the document is not an object, so it has neither apiVersion nor kind',
    ],
    ['a list', '- a\n', 'line 1: the document is not an object, so it has neither apiVersion nor kind'],
    ['no kind', 'apiVersion: v1\n', 'line 1: kind is missing'],
    ['no apiVersion', 'kind: Pod\n', 'line 1: apiVersion is missing'],
    [
      'another kind',
      'apiVersion: v1\nkind: Service\n',
      'line 1: kind "Service" (v1) is not supported here, only Pod, PodList and List of v1',
    ],
    [
      'another version',
      'apiVersion: v2\nkind: Pod\n',
      'line 1: apiVersion "v2" of Pod is not known, only "v1" is',
    ],
    ['a pod without a name', 'apiVersion: v1\nkind: Pod\n', 'line 1: metadata.name: Required value'],
    [
      'another kind in a list',
      'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret}\n',
      'line 4: items[0]: kind "Secret" (v1) is not a v1 Pod',
    ],
    [
      'an item of a List without a kind',
      'apiVersion: v1\nkind: List\nitems: [{metadata: {name: a}}]\n',
      'line 3: items[0]: kind "" () is not a v1 Pod',
    ],
    ['items of another type', 'apiVersion: v1\nkind: PodList\nitems: x\n', 'line 3: items: must be a list'],
    [
      'an item of another type',
      'apiVersion: v1\nkind: PodList\nitems: [x]\n',
      'line 3: items[0]: must be a map',
    ],
    ['a duplicate key', `${head}kind: Pod\n`, 'line 4, column 1: key "kind" appears twice in one map'],
    [
      'a duplicate key in JSON',
      '{"kind": "Pod",\n "kind": "Pod"}',
      'line 2, column 2: not valid JSON: key "kind" appears twice in one map',
    ],
    ['broken YAML', 'a: [1\n', /^line \d, column \d: /],
    ['a tab as indent', 'a:\n\tb: 1\n', /^line 2, column 1: /],
    ['broken JSON', '{"a": }', 'line 1, column 7: not valid JSON: expected a value'],
    ['truncated JSON', '{"a": [1,', 'line 1, column 10: not valid JSON: unexpected end'],
    ['JSON without quotes', '{a: 1}', 'line 1, column 2: not valid JSON: expected a key in double quotes'],
    ['JSON with a bad word', '{"a": nil}', 'line 1, column 7: not valid JSON: "nil" is not a value'],
    ['JSON with a bad number', '{"a": 01}', 'line 1, column 7: not valid JSON: "01" is not a value'],
    [
      'JSON with a bad escape',
      String.raw`{"a": "\q"}`,
      'line 1, column 7: not valid JSON: a string has an invalid escape or a raw control character',
    ],
    ['JSON with an unterminated string', '{"a": "', 'line 1, column 7: not valid JSON: unterminated string'],
    ['JSON without a colon', '{"a" 1}', 'line 1, column 6: not valid JSON: expected ":" after a key'],
    ['JSON without a comma', '{"a": 1 "b": 2}', 'line 1, column 9: not valid JSON: expected "," or "}"'],
    [
      'JSON with a list without a comma',
      '{"a": [1 2]}',
      'line 1, column 10: not valid JSON: expected "," or "]"',
    ],
    ['a key that is a list', '? [a]\n: b\n', 'line 1, column 3: a key of a map must be a scalar'],
    ['an undefined alias', 'a: *x\n', 'line 1, column 4: anchor "x" is not defined'],
    ['a recursive alias', 'a: &x [*x]\n', 'line 1, column 8: the value of anchor "x" contains itself'],
    [
      'a merge key with a scalar',
      'a: {<<: 1}\n',
      'line 1, column 9: a merge key (<<) needs a map or a list of maps',
    ],
    ['a tag of another type', 'a: !!int x\n', /line 1, column 10: "x" is not of type !!int/],
    ['text that is not UTF-8', '\u0000', 'line 1, column 1: is not text: it has control characters'],
  ];
  for (const [name, text, want] of refusals)
    test(name, () => {
      const found = reasons(text);
      expect(found).toHaveLength(1);
      expect(found[0]).toMatch(
        want instanceof RegExp
          ? want
          : new RegExp(`^${want.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`),
      );
    });

  test('invalid UTF-8', () => {
    expect(decodeManifest(Buffer.from([0x61, 0xff])).faults).toEqual([
      { reason: 'is not text: it is not valid UTF-8' },
    ]);
  });

  test('more than 10 MiB', () => {
    const bytes = Buffer.alloc(maxManifestBytes + 1, '#');
    expect(decodeManifest(bytes).faults).toEqual([{ reason: 'is larger than 10485760 bytes' }]);
  });

  test('a document whose aliases expand without bound', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 12; level++)
      lines.push(`a${level}: &a${level} [${`*a${level - 1}, `.repeat(9)}]`);
    expect(reasons(lines.join('\n'))[0]).toMatch(/too much of the document comes from aliases$/);
  });

  test('unbounded nesting in YAML and JSON', () => {
    expect(reasons('['.repeat(100_000))[0]).toMatch(/nested too deeply$/);
    expect(reasons(`${'{"a":'.repeat(100_000)}1`)[0]).toMatch(/nested too deeply$/);
  });

  test('decodes a map with very many keys in linear time', () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `k${index}: v`).join('\n');
    expect(reasons(text)).toEqual(['line 1: kind is missing']);
  });
});

describe('one bad document', () => {
  test('does not affect the others, and is reported with its name', () => {
    const text = `${head}---\nkind: Service\napiVersion: v1\n---\n${head.replace('web', 'db')}spec: 1\n---\n${head.replace('web', 'c')}`;
    const { pods, faults } = decode(text);
    expect(pods.map((pod) => pod.metadata?.name)).toEqual(['web', 'c']);
    expect(faults).toEqual([
      { reason: expect.stringContaining('line 5: kind "Service"'), notAPod: true },
      { reason: expect.stringContaining('spec: must be a map'), pod: 'default/db' },
    ]);
  });

  test('rejects all if the text cannot be parsed', () => {
    const { pods, faults } = decode(`${head}---\n]\n`);
    expect(pods).toEqual([]);
    expect(faults).toHaveLength(1);
    expect(faults[0]?.pod).toBeUndefined();
  });
});
