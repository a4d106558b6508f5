// Finds what deciders and loops must not do themselves: exit the process, read the clock, wait, draw random numbers, do I/O
// through a global, keep state in a module. Each message names the injected dependency to use instead.
import { type AstNode, isNode, type Module, walk } from './parse.ts';

export interface Ban {
  readonly line: number;
  readonly what: string;
}

const useClock = 'take a Clock instead';

/** Globals that are banned entirely. */
const bannedGlobals: ReadonlyMap<string, string> = new Map([
  ['process', 'process belongs to entry/ and edge/'],
  ['console', 'console belongs to entry/, take a Logger instead'],
  ['fetch', 'fetch is I/O and belongs to edge/'],
  ['WebSocket', 'WebSocket is I/O and belongs to edge/'],
  ['require', 'require hides an import, use import instead'],
  ['performance', `performance reads the clock, ${useClock}`],
  ['setTimeout', `setTimeout is a bare timer, ${useClock}`],
  ['setInterval', `setInterval is a bare timer, ${useClock}`],
  ['setImmediate', `setImmediate is a bare timer, ${useClock}`],
]);

/** Banned members of globals that are otherwise allowed. */
const bannedMembers: ReadonlyMap<string, string> = new Map([
  ['Date.now', `Date.now reads the clock, ${useClock}`],
  ['Math.random', 'inject Math.random'],
  ['AbortSignal.timeout', `AbortSignal.timeout is a bare timer, ${useClock}`],
  ['crypto.randomUUID', 'inject randomUUID'],
  ['crypto.getRandomValues', 'inject getRandomValues'],
]);

/** Named imports of random functions from an otherwise pure module. */
const bannedCrypto: ReadonlySet<string> = new Set([
  'randomUUID',
  'randomBytes',
  'randomInt',
  'randomFillSync',
  'getRandomValues',
]);

/** Allowed in tests: I/O, the environment, randomness. Waiting is not. */
const allowedInTests: ReadonlySet<string> = new Set([
  'process',
  'console',
  'fetch',
  'WebSocket',
  'require',
  'Math.random',
  'crypto.randomUUID',
  'crypto.getRandomValues',
]);

export function findBans(module: Module, options: { readonly isTest: boolean }): readonly Ban[] {
  const bans: Ban[] = [];
  const bound = boundNames(module.ast);
  const add = (node: AstNode, what: string): void => {
    bans.push({ line: module.lineAt(node.start), what });
  };
  const isAllowed = (name: string): boolean => options.isTest && allowedInTests.has(name);
  walk(module.ast, (node, parents) => {
    const parent = parents.at(-1);
    if (node.type === 'Identifier' && isReference(node, parent)) {
      const name = String(node['name']);
      const what = bound.has(name) ? undefined : bannedGlobals.get(name);
      if (what !== undefined && !isAllowed(name)) add(node, what);
      if (name === 'globalThis' && (parent === undefined || memberName(parent) === undefined))
        add(node, 'a computed member of globalThis cannot be checked');
    }
    const member = memberName(node);
    const what = member === undefined ? undefined : banOn(member);
    if (member !== undefined && what !== undefined && !isAllowed(member.replace('globalThis.', '')))
      add(node, what);
    if (isClockDate(node)) add(node, `new Date() reads the clock, ${useClock}`);
    if (!options.isTest && isCryptoImport(node)) add(node, 'inject randomness from node:crypto');
  });
  for (const node of moduleStatements(module.ast)) addStateBans(node, add);
  return bans;
}

/** Every name that the module binds: imports, variables, parameters, functions, classes. */
function boundNames(ast: AstNode): ReadonlySet<string> {
  const names = new Set<string>();
  walk(ast, (node, parents) => {
    if (node.type !== 'Identifier') return;
    const parent = parents.at(-1);
    const grand = parents.at(-2);
    if (parent === undefined) return;
    const binds =
      (parent.type === 'VariableDeclarator' && parent['id'] === node) ||
      (/^Import.*Specifier$/.test(parent.type) && parent['local'] === node) ||
      (/Function/.test(parent.type) && (parent['id'] === node || inList(parent['params'], node))) ||
      (parent.type === 'ClassDeclaration' && parent['id'] === node) ||
      (parent.type === 'AssignmentPattern' && parent['left'] === node) ||
      (parent.type === 'Property' && parent['value'] === node && grand?.type === 'ObjectPattern') ||
      parent.type === 'ArrayPattern' ||
      parent.type === 'RestElement' ||
      parent.type === 'FormalParameter';
    if (binds) names.add(String(node['name']));
  });
  return names;
}

function inList(list: unknown, node: AstNode): boolean {
  return Array.isArray(list) && list.includes(node);
}

/** False for an identifier that is only a name: a property, a member, a key of a type. */
function isReference(node: AstNode, parent: AstNode | undefined): boolean {
  if (parent === undefined) return true;
  if (parent.type.startsWith('TS') && !/^TS(As|Satisfies|NonNull|Type)|TSExportAssignment/.test(parent.type))
    return false;
  switch (parent.type) {
    case 'MemberExpression':
      return parent['object'] === node || parent['computed'] === true;
    case 'Property':
      return parent['value'] === node || parent['computed'] === true;
    case 'PropertyDefinition':
    case 'AccessorProperty':
      return parent['value'] === node || parent['computed'] === true;
    case 'MethodDefinition':
      return parent['computed'] === true;
    case 'ImportSpecifier':
    case 'ExportSpecifier':
    case 'LabeledStatement':
    case 'BreakStatement':
    case 'ContinueStatement':
      return false;
    default:
      return true;
  }
}

/** `Date.now` for Date.now, Date['now'] and globalThis.Date.now; `globalThis.fetch` for that alone. */
function memberName(node: AstNode): string | undefined {
  if (node.type !== 'MemberExpression') return undefined;
  const { object, property } = node;
  if (!isNode(object) || !isNode(property)) return undefined;
  const name = node['computed'] === true ? property['value'] : property['name'];
  if (typeof name !== 'string') return undefined;
  if (object.type === 'Identifier') return `${String(object['name'])}.${name}`;
  const owner = memberName(object);
  return owner?.startsWith('globalThis.') === true
    ? `${owner.slice('globalThis.'.length)}.${name}`
    : undefined;
}

function banOn(member: string): string | undefined {
  const [owner, name] = member.split('.');
  return owner === 'globalThis' ? bannedGlobals.get(name ?? '') : bannedMembers.get(member);
}

/** `new Date()` and `Date()` without arguments. */
function isClockDate(node: AstNode): boolean {
  if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return false;
  const { callee } = node;
  const args = node['arguments'];
  const named = isNode(callee) && callee.type === 'Identifier' && callee['name'] === 'Date';
  return named && (node.type === 'CallExpression' || (Array.isArray(args) && args.length === 0));
}

function isCryptoImport(node: AstNode): boolean {
  if (node.type !== 'ImportDeclaration' || !isNode(node['source'])) return false;
  if (node['source']['value'] !== 'node:crypto' || !Array.isArray(node['specifiers'])) return false;
  return node['specifiers'].some((one: unknown) => {
    const imported = isNode(one) ? one['imported'] : undefined;
    return isNode(imported) && bannedCrypto.has(String(imported['name']));
  });
}

function moduleStatements(ast: AstNode): readonly AstNode[] {
  const body = Array.isArray(ast['body']) ? ast['body'].filter(isNode) : [];
  return body.map((node) => {
    const declaration = node.type.startsWith('Export') ? node['declaration'] : undefined;
    return isNode(declaration) ? declaration : node;
  });
}

const mutableCollections: ReadonlySet<string> = new Set(['Map', 'Set', 'WeakMap', 'WeakSet', 'Array']);

/** State that a module would share between two kubelets in one process. */
function addStateBans(statement: AstNode, add: (node: AstNode, what: string) => void): void {
  if (statement.type === 'VariableDeclaration' && statement['declare'] !== true) {
    if (statement['kind'] !== 'const') {
      add(
        statement,
        `${String(statement['kind'])} at the top of a module is state shared by every kubelet in the process`,
      );
      return;
    }
    const declarations = Array.isArray(statement['declarations'])
      ? statement['declarations'].filter(isNode)
      : [];
    for (const one of declarations) {
      if (isMutableCollection(one))
        add(
          one,
          'a mutable collection at the top of a module is shared state: annotate it as Readonly… or move it',
        );
    }
  }
  if (statement.type === 'ClassDeclaration' && isNode(statement['body'])) {
    const members = Array.isArray(statement['body']['body']) ? statement['body']['body'].filter(isNode) : [];
    for (const member of members) {
      if (member.type === 'PropertyDefinition' && member['static'] === true && member['readonly'] !== true)
        add(member, 'a static field that is not readonly is state shared by every kubelet in the process');
    }
  }
}

function isMutableCollection(declarator: AstNode): boolean {
  const { id, init } = declarator;
  if (!isNode(init)) return false;
  const emptyArray =
    init.type === 'ArrayExpression' && Array.isArray(init['elements']) && init['elements'].length === 0;
  const emptyObject =
    init.type === 'ObjectExpression' && Array.isArray(init['properties']) && init['properties'].length === 0;
  const { callee } = init;
  const collection =
    init.type === 'NewExpression' && isNode(callee) && mutableCollections.has(String(callee['name']));
  if (!emptyArray && !emptyObject && !collection) return false;
  const annotation = isNode(id) ? JSON.stringify(id['typeAnnotation'] ?? null) : '';
  return !/"name":"Readonly/.test(annotation) && !/"operator":"readonly"/.test(annotation);
}
