import { describe, expect, test } from 'vitest';
import { checkLayers, type SourceFile } from './layers.ts';

const others: Readonly<Record<string, string>> = {
  'src/entry/main.ts': '',
  'src/assemble/kubelet.ts': '',
  'src/base/clock.ts': '',
  'src/api/pod.ts': '',
  'src/edge/host/fs.ts': '',
  'src/pods/desired.ts': '',
  'src/pods/desired.test.ts': '',
  'src/workers/worker.ts': '',
  'test/fakes/fake-clock.ts': '',
};

/** The faults of one file inside a small tree without faults. */
function faultsOf(path: string, text: string): readonly string[] {
  const files: SourceFile[] = Object.entries({ ...others, [path]: text }).map(([name, content]) => ({
    path: name,
    text: content,
  }));
  return checkLayers(files);
}

describe('imports', () => {
  const allowed = [
    ['a feature imports its own file', 'src/pods/a.ts', './desired.ts'],
    ['a feature imports base/', 'src/pods/a.ts', '../base/clock.ts'],
    ['a feature imports api/', 'src/pods/a.ts', '../api/pod.ts'],
    ['a feature imports a pure module of Node', 'src/pods/a.ts', 'node:path'],
    ['a feature imports a pure package', 'src/pods/a.ts', '@bufbuild/protobuf/wire'],
    ['a test imports test/', 'src/pods/a.test.ts', '../../test/fakes/fake-clock.ts'],
    ['a test imports node:fs', 'src/pods/a.test.ts', 'node:fs'],
    ['a test imports vitest', 'src/pods/a.test.ts', 'vitest'],
    ['api/ imports base/', 'src/api/a.ts', '../base/clock.ts'],
    ['edge/ imports api/', 'src/edge/cri/a.ts', '../../api/pod.ts'],
    ['edge/ imports itself', 'src/edge/cri/a.ts', '../host/fs.ts'],
    ['edge/ imports an I/O module', 'src/edge/cri/a.ts', 'node:net'],
    ['edge/ imports any package', 'src/edge/cri/a.ts', '@grpc/grpc-js'],
    ['entry/ imports anything', 'src/entry/main.ts', '../edge/host/fs.ts'],
    ['assemble/ imports anything', 'src/assemble/kubelet.ts', '../workers/worker.ts'],
    ['test/ imports anything', 'test/fakes/a.ts', '../../src/workers/worker.ts'],
    ['a test of assemble/ imports assemble/', 'src/assemble/kubelet.test.ts', './kubelet.ts'],
  ] as const;
  for (const [name, path, specifier] of allowed) {
    test(`allowed: ${name}`, () => expect(faultsOf(path, `import {} from '${specifier}';`)).toEqual([]));
  }

  const rejected = [
    [
      'a feature imports another feature',
      'src/pods/a.ts',
      '../workers/worker.ts',
      'the feature pods/ imports only itself, base/ and api/',
    ],
    [
      'a feature imports edge/',
      'src/pods/a.ts',
      '../edge/host/fs.ts',
      'the feature pods/ imports only itself, base/ and api/',
    ],
    [
      'a test imports another feature',
      'src/pods/a.test.ts',
      '../workers/worker.ts',
      'the feature pods/ imports only itself, base/ and api/',
    ],
    [
      'a feature imports test/',
      'src/pods/a.ts',
      '../../test/fakes/fake-clock.ts',
      'only tests may import test/',
    ],
    [
      'a feature imports assemble/',
      'src/pods/a.ts',
      '../assemble/kubelet.ts',
      'only entry/ may import assemble/',
    ],
    ['base/ imports api/', 'src/base/a.ts', '../api/pod.ts', 'base/ imports only itself'],
    ['api/ imports edge/', 'src/api/a.ts', '../edge/host/fs.ts', 'api/ imports only itself and base/'],
    [
      'edge/ imports a feature',
      'src/edge/host/a.ts',
      '../../pods/desired.ts',
      'edge/ imports only itself, base/ and api/',
    ],
    ['a module imports a test', 'src/pods/a.ts', './desired.test.ts', 'a test is not a library'],
    [
      'a file that does not exist',
      'src/pods/a.ts',
      './gone.ts',
      'src/pods/gone.ts does not exist (imports carry the .ts extension)',
    ],
    ['a file outside src/', 'src/pods/a.ts', '../../tools/x.ts', 'tools/x.ts is outside src/'],
    [
      'a feature imports a package with I/O',
      'src/pods/a.ts',
      '@grpc/grpc-js',
      'the package @grpc/grpc-js belongs to edge/',
    ],
    ['a feature imports native code', 'src/pods/a.ts', 'koffi', 'the package koffi belongs to edge/'],
    ['a feature imports vitest', 'src/pods/a.ts', 'vitest', 'only tests may import vitest'],
    ...[
      'fs',
      'fs/promises',
      'net',
      'http',
      'http2',
      'https',
      'tls',
      'dgram',
      'dns',
      'child_process',
      'os',
      'process',
      'timers',
      'timers/promises',
      'worker_threads',
      'perf_hooks',
    ].map(
      (name) =>
        [
          `a feature imports node:${name}`,
          'src/pods/a.ts',
          `node:${name}`,
          `node:${name} is I/O and belongs to edge/`,
        ] as const,
    ),
    ['api/ imports an I/O module', 'src/api/a.ts', 'node:fs', 'node:fs is I/O and belongs to edge/'],
  ] as const;
  for (const [name, path, specifier, why] of rejected) {
    test(`rejected: ${name}`, () =>
      expect(faultsOf(path, `\nimport {} from '${specifier}';`)).toEqual([
        `${path}:2: import '${specifier}': ${why}`,
      ]));
  }

  const edgeImport = '../edge/host/fs.ts';
  const forms = [
    ['types', `import type { A } from '${edgeImport}';`],
    ['a re-export', `export { a } from '${edgeImport}';`],
    ['a re-export of everything', `export * from '${edgeImport}';`],
    ['a lazy import', `export const a = () => import('${edgeImport}');`],
    ['a type by name', `export type A = import('${edgeImport}').A;`],
  ] as const;
  for (const [name, text] of forms) {
    test(`checks ${name}`, () =>
      expect(faultsOf('src/pods/a.ts', text)).toEqual([
        `src/pods/a.ts:1: import '${edgeImport}': the feature pods/ imports only itself, base/ and api/`,
      ]));
  }

  test('allows types of an I/O module, since they are erased', () => {
    expect(faultsOf('src/server/a.ts', "import type { IncomingMessage } from 'node:http';")).toEqual([]);
    expect(faultsOf('src/server/a.ts', "import { type IncomingMessage } from 'node:http';")).toEqual([]);
    expect(faultsOf('src/server/a.ts', "import { type A, createServer } from 'node:http';")).toHaveLength(1);
  });

  test('rejects a computed name', () =>
    expect(faultsOf('src/pods/a.ts', 'export const a = (x: string) => import(x);')).toEqual([
      "src/pods/a.ts:1: import '': an import whose name is computed cannot be checked",
    ]));

  test('rejects a file directly in src/', () =>
    expect(faultsOf('src/helpers.ts', '')).toEqual([
      'src/helpers.ts: no file lies directly in src/, every file belongs to a folder',
    ]));
});

describe('import cycles', () => {
  test('are reported once, with their path, through values and types', () => {
    const files = [
      { path: 'src/pods/a.ts', text: "import { b } from './b.ts';" },
      { path: 'src/pods/b.ts', text: "import type { C } from './c.ts';" },
      { path: 'src/pods/c.ts', text: "export { a } from './a.ts';" },
      { path: 'src/pods/d.ts', text: "import { a } from './a.ts';" },
    ];
    expect(checkLayers(files)).toEqual([
      'import cycle: src/pods/a.ts → src/pods/b.ts → src/pods/c.ts → src/pods/a.ts',
    ]);
  });
  test('include a file that imports itself', () =>
    expect(checkLayers([{ path: 'src/pods/a.ts', text: "import {} from './a.ts';" }])).toEqual([
      'import cycle: src/pods/a.ts → src/pods/a.ts',
    ]));
});

const bans = [
  ['process.exit(1);', 'process belongs to entry/ and edge/'],
  ["process.on('SIGTERM', () => {});", 'process belongs to entry/ and edge/'],
  ['export const e = process.env;', 'process belongs to entry/ and edge/'],
  ['console.log(1);', 'console belongs to entry/, take a Logger instead'],
  ['export const n = Date.now();', 'Date.now reads the clock, take a Clock instead'],
  ['export const n = [1].map(Date.now);', 'Date.now reads the clock, take a Clock instead'],
  ["export const n = Date['now']();", 'Date.now reads the clock, take a Clock instead'],
  ['export const n = globalThis.Date.now();', 'Date.now reads the clock, take a Clock instead'],
  ['export const n = new Date();', 'new Date() reads the clock, take a Clock instead'],
  ['export const n = performance.now();', 'performance reads the clock, take a Clock instead'],
  ['setTimeout(() => {}, 1);', 'setTimeout is a bare timer, take a Clock instead'],
  ['globalThis.setTimeout(() => {}, 1);', 'setTimeout is a bare timer, take a Clock instead'],
  ['setInterval(() => {}, 1);', 'setInterval is a bare timer, take a Clock instead'],
  ['setImmediate(() => {});', 'setImmediate is a bare timer, take a Clock instead'],
  ['export const later = { wait: setTimeout };', 'setTimeout is a bare timer, take a Clock instead'],
  ['export const s = AbortSignal.timeout(5);', 'AbortSignal.timeout is a bare timer, take a Clock instead'],
  ['export const r = Math.random();', 'inject Math.random'],
  ["import { randomUUID } from 'node:crypto';", 'inject randomness from node:crypto'],
  ["export const f = fetch('http://x');", 'fetch is I/O and belongs to edge/'],
  [
    "export const k = (x: string) => globalThis[x as 'a'];",
    'a computed member of globalThis cannot be checked',
  ],
  [
    'let n = 0; export const next = () => ++n;',
    'let at the top of a module is state shared by every kubelet in the process',
  ],
  ['export var n = 0;', 'var at the top of a module is state shared by every kubelet in the process'],
  [
    'const seen = new Map<string, string>();',
    'a mutable collection at the top of a module is shared state: annotate it as Readonly… or move it',
  ],
  [
    'const seen: Set<string> = new Set();',
    'a mutable collection at the top of a module is shared state: annotate it as Readonly… or move it',
  ],
  [
    'export const list: string[] = [];',
    'a mutable collection at the top of a module is shared state: annotate it as Readonly… or move it',
  ],
  [
    'export class A { static count = 0; }',
    'a static field that is not readonly is state shared by every kubelet in the process',
  ],
] as const;

describe('recursive removal by path', () => {
  const removal = 'recursive removal by path follows swapped-in links, use removeDirectory of edge/volumes';
  for (const call of [
    'await rm(path, { recursive: true, force: true });',
    'rmSync(path, { force: true, recursive: true });',
    'await fs.promises.rmdir(path, { recursive: isDeep });',
    "const remove = promisify(rm); await remove(path, { 'recursive': true });",
  ]) {
    test(`is banned outside of tests: ${call}`, () => {
      for (const path of ['src/edge/host/a.ts', 'src/base/a.ts', 'src/entry/main.ts'])
        expect(faultsOf(path, `\n${call}`)).toEqual([`${path}:2: ${removal}`]);
      for (const path of ['src/edge/host/a.test.ts', 'test/fakes/a.ts'])
        expect(faultsOf(path, call)).toEqual([]);
    });
  }
  for (const call of [
    'await rm(path, { force: true });',
    'await rm(path, { recursive: false });',
    'await mkdir(path, { recursive: true });',
    'await readdir(path, { recursive: true });',
  ])
    test(`does not include ${call}`, () => expect(faultsOf('src/edge/host/a.ts', call)).toEqual([]));
});

describe('bans', () => {
  for (const [text, what] of bans) {
    test(`in a feature: ${text}`, () =>
      expect(faultsOf('src/pods/a.ts', `\n${text}`)).toEqual([`src/pods/a.ts:2: ${what}`]));
  }
  test('apply in api/', () => {
    for (const [text] of bans) expect(faultsOf('src/api/a.ts', text)).toHaveLength(1);
  });
  test('do not apply in base/, edge/, entry/ and test/', () => {
    for (const path of ['src/base/a.ts', 'src/edge/host/a.ts', 'src/entry/main.ts', 'test/fakes/a.ts']) {
      for (const [text] of bans) expect(faultsOf(path, text)).toEqual([]);
    }
  });
  test('let a test read the environment, but not wait', () => {
    expect(faultsOf('src/pods/a.test.ts', 'export const e = process.env;')).toEqual([]);
    expect(faultsOf('src/pods/a.test.ts', 'setTimeout(() => {}, 1);')).toHaveLength(1);
    expect(faultsOf('src/pods/a.test.ts', 'export const n = Date.now();')).toHaveLength(1);
  });

  const harmless = [
    'export const d = new Date(5); export const p = Date.parse("x");',
    'export const t = { process: 1, setTimeout: 2 }; export const u = t.process + t.setTimeout;',
    'export interface A { process: string; now(): number } export class B { process(): void {} }',
    'export function f(process: string): string { return process; }',
    'export const g = ({ fetch }: { fetch: () => void }) => fetch();',
    'export const limits: ReadonlyMap<string, number> = new Map([["a", 1]]);',
    'export const none: readonly string[] = [];',
    'export const table = { a: 1 }; export const list = ["a"];',
    'export class C { static readonly max = 5; }',
    'export const h = () => { let n = 0; const m = new Map(); return [n++, m]; };',
    'export const s = globalThis.String(1);',
    "import { createHash } from 'node:crypto'; export const i = createHash;",
  ];
  for (const text of harmless) {
    test(`allow: ${text}`, () => expect(faultsOf('src/pods/a.ts', text)).toEqual([]));
  }
});

describe('the composition root', () => {
  const cases = [
    ['a.changed.subscribe(() => b.poke());', 'a component declares its wake-ups in `wakes`'],
    ['export const f = async () => { await g(); };', 'assemble/ waits for nothing'],
    ['export const f = () => { let n = 0; return () => n; };', 'state belongs to a feature'],
    ['export const f = () => new Map();', 'state belongs to a feature'],
    ['export const f = () => new Channel();', 'state belongs to a feature'],
    ['for (const a of list) a.start();', 'a loop decides and belongs to a feature'],
    ['export class A {}', 'a class belongs to a feature'],
    ["export const f = () => { throw new Error('no'); };", 'errors are raised by a feature'],
  ] as const;
  for (const [text, what] of cases) {
    test(`rejects ${text}`, () =>
      expect(faultsOf('src/assemble/a.ts', `\n${text}`)).toEqual([`src/assemble/a.ts:2: ${what}`]));
  }
  test('obeys the bans of features', () =>
    expect(faultsOf('src/assemble/a.ts', 'export const r = Math.random();')).toHaveLength(1));
  test('may build components and choose between them', () =>
    expect(
      faultsOf(
        'src/assemble/a.ts',
        'export const f = (on: boolean) => (on ? [new Pleg({ onRelist: (s: number) => m.observe(s) })] : []);',
      ),
    ).toEqual([]));
});
