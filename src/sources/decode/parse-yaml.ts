// Parses YAML with the scalars of Go's parser, merge keys, and bounded expansion of aliases.
// Invariant: the result is a tree of bounded size; every failure is a ManifestSyntaxError with a position.
// Upstream: sigs.k8s.io/yaml on go.yaml.in/yaml/v2.
import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  Parser,
  type YAMLMap,
} from 'yaml';
import { resolvePlain, resolveTagged } from './go-scalar.ts';
import { type ManifestNode, ManifestSyntaxError, type Places, type ScalarValue } from './manifest-node.ts';

/** Deeper than any manifest, and within the stack. */
const deepest = 500;

/** The documents of a stream without empty ones (only comments, or nothing between two separators). */
export function parseYaml(text: string, places: Places): ManifestNode[] {
  const nodes: ManifestNode[] = [];
  for (const document of compose(text)) {
    const error = document.errors[0];
    if (error !== undefined) throw new ManifestSyntaxError(problemOf(error), places.at(error.pos[0]));
    if (document.contents === null) continue;
    const node = new Reader(places).read(document.contents, 0);
    if (node.kind !== 'scalar' || node.value !== null) nodes.push(node);
  }
  return nodes;
}

/** One document at a time: the library needs a hundred times the size of the text. */
function* compose(text: string): Generator<Document> {
  const composer = new Composer({
    // The reader below resolves scalars and compares keys: the library's check for duplicate keys is quadratic.
    schema: 'failsafe',
    version: '1.1',
    merge: false,
    uniqueKeys: false,
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: 'silent',
  });
  try {
    yield* composer.compose(new Parser().parse(text));
  } catch (err) {
    throw new ManifestSyntaxError(problemOf(err));
  }
}

/** Deeply nested input exhausts the library's stack; it then reports the error of the engine. */
function problemOf(err: unknown): string {
  const message = err instanceof Error ? err.message : String(err);
  return message.includes('call stack') ? 'nested too deeply' : (message.split('\n', 1)[0] ?? message);
}

class Reader {
  readonly #places: Places;
  readonly #anchors = new Map<string, Node>();
  /** The target of each alias at its position: anchors can be redefined further down. */
  readonly #targets = new Map<Node, Node>();
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  #decoded = 0;
  #decodedByAlias = 0;

  constructor(places: Places) {
    this.#places = places;
  }

  read(node: unknown, depth: number): ManifestNode {
    this.#count(node);
    if (depth > deepest) throw this.#error('nested too deeply', node);
    if (isAlias(node)) return this.#readAlias(node, depth);
    const offset = offsetOf(node);
    if (isScalar(node)) {
      this.#define(node);
      return { kind: 'scalar', value: this.#scalar(node), offset };
    }
    if (isSeq(node)) {
      this.#define(node);
      return { kind: 'list', items: node.items.map((item) => this.read(item, depth + 1)), offset };
    }
    if (isMap(node)) {
      this.#define(node);
      const entries = new Map<string, ManifestNode>();
      this.#readMap(node, entries, depth);
      return { kind: 'map', entries, offset };
    }
    return { kind: 'scalar', value: null, offset };
  }

  #define(node: Node & { anchor?: string }): void {
    if (node.anchor !== undefined && this.#aliasDepth === 0) this.#anchors.set(node.anchor, node);
  }

  #scalar(node: { value: unknown; tag?: string; type?: string }): ScalarValue {
    const text = String(node.value);
    try {
      if (node.tag !== undefined) return resolveTagged(text, node.tag);
    } catch (err) {
      throw this.#error(err instanceof Error ? err.message : String(err), node);
    }
    return node.type === 'PLAIN' ? resolvePlain(text) : text;
  }

  #readMap(node: YAMLMap, entries: Map<string, ManifestNode>, depth: number): void {
    const merged = new Map<string, ManifestNode>();
    for (const pair of node.items) {
      if (isMergeKey(pair.key)) {
        this.#merge(pair.value, merged, depth);
        continue;
      }
      const key = this.#key(pair.key, depth);
      // differs from upstream: duplicate keys are an error; the last one wins silently there.
      if (entries.has(key)) throw this.#error(`key "${key}" appears twice in one map`, pair.key);
      entries.set(key, this.read(pair.value, depth + 1));
    }
    for (const [key, value] of merged) if (!entries.has(key)) entries.set(key, value);
  }

  #merge(value: unknown, merged: Map<string, ManifestNode>, depth: number): void {
    const node = this.read(value, depth + 1);
    // The first of several maps wins, and the map's own keys override all of them.
    const maps = node.kind === 'list' ? node.items : [node];
    for (const map of maps) {
      if (map.kind !== 'map') throw this.#error('a merge key (<<) needs a map or a list of maps', value);
      for (const [key, inner] of map.entries) if (!merged.has(key)) merged.set(key, inner);
    }
  }

  #key(node: unknown, depth: number): string {
    const key = this.read(node, depth + 1);
    if (key.kind !== 'scalar' || key.value === null)
      throw this.#error('a key of a map must be a scalar', node);
    return String(key.value);
  }

  #readAlias(alias: Node & { source: string }, depth: number): ManifestNode {
    const target = this.#targets.get(alias) ?? this.#anchors.get(alias.source);
    if (target === undefined) throw this.#error(`anchor "${alias.source}" is not defined`, alias);
    if (this.#open.has(alias))
      throw this.#error(`the value of anchor "${alias.source}" contains itself`, alias);
    this.#targets.set(alias, target);
    this.#open.add(alias);
    this.#aliasDepth += 1;
    const node = this.read(target, depth + 1);
    this.#aliasDepth -= 1;
    this.#open.delete(alias);
    return node;
  }

  /** Rejects a small text whose aliases expand to a huge tree, with the limits of Go's parser. */
  #count(node: unknown): void {
    this.#decoded += 1;
    if (this.#aliasDepth > 0) this.#decodedByAlias += 1;
    if (this.#decodedByAlias <= 100 || this.#decoded <= 1000) return;
    if (this.#decodedByAlias / this.#decoded > allowedAliasRatio(this.#decoded))
      throw this.#error('too much of the document comes from aliases', node);
  }

  #error(problem: string, node: unknown): ManifestSyntaxError {
    return new ManifestSyntaxError(problem, this.#places.at(offsetOf(node)));
  }
}

/** 99 % up to 400,000 values, then falling to 10 % at 4,000,000. */
function allowedAliasRatio(decoded: number): number {
  const share = (decoded - 400_000) / 3_600_000;
  return 0.99 - 0.89 * Math.min(1, Math.max(0, share));
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === '<<' && key.type === 'PLAIN' && key.tag === undefined;
}

function offsetOf(node: unknown): number {
  const range = (node as { range?: readonly number[] | null } | null)?.range;
  return range?.[0] ?? 0;
}
