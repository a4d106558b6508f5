// Splits a command line into uses of flags, as pflag does, without parsing their values.
// Invariant: reads every argument, so that all problems are reported together.

import type { Problem } from '../problem.ts';
import { type FlagEntry, flagByFormerName, flagByName, flagByShort } from './flag-index.ts';
import { type RemovedFlag, removedFlags } from './removed-flags.ts';

export interface ParsedArgs {
  /** By flag, in the order of use. */
  readonly uses: ReadonlyMap<FlagEntry, readonly string[]>;
  readonly warnings: readonly string[];
  readonly problems: readonly Problem[];
}

interface Reading {
  readonly uses: Map<FlagEntry, string[]>;
  readonly warned: Map<string, string>;
  readonly problems: Problem[];
}

export function parseArgs(argv: readonly string[]): ParsedArgs {
  const reading: Reading = { uses: new Map(), warned: new Map(), problems: [] };
  const words = [...argv];
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '--') {
      for (const positional of words) addPositional(reading, positional);
      break;
    }
    if (word.startsWith('--')) readLong(reading, word.slice(2), words);
    else if (word.startsWith('-') && word.length > 1) readShorts(reading, word.slice(1), words);
    else addPositional(reading, word);
  }
  return { uses: reading.uses, warnings: [...reading.warned.values()], problems: reading.problems };
}

function addPositional(reading: Reading, word: string): void {
  reading.problems.push({ where: '', message: `unknown command "${word}": the kubelet takes flags only` });
}

function readLong(reading: Reading, body: string, words: string[]): void {
  if (body.startsWith('-') || body.startsWith('=')) {
    reading.problems.push({ where: '', message: `bad flag syntax: --${body}` });
    return;
  }
  const equals = body.indexOf('=');
  const name = (equals < 0 ? body : body.slice(0, equals)).replaceAll('_', '-');
  const given = equals < 0 ? undefined : body.slice(equals + 1);
  const entry = flagByName.get(name) ?? flagByFormerName.get(name);
  const removed = entry === undefined ? removedFlags.get(name) : undefined;
  if (entry === undefined && removed === undefined) {
    reading.problems.push({ where: '', message: `unknown flag: --${name}` });
    return;
  }
  const isBoolean = entry?.isBoolean ?? removed?.isBoolean ?? false;
  const text = given ?? (isBoolean ? 'true' : words.shift());
  if (text === undefined) reading.problems.push({ where: '', message: `flag needs an argument: --${name}` });
  else if (entry !== undefined) addUse(reading, entry, text, name);
  else if (removed !== undefined) warnRemoved(reading, removed);
}

/** -v=4, -v4, -v 4, -hv4 */
function readShorts(reading: Reading, letters: string, words: string[]): void {
  let rest = letters;
  while (rest !== '') {
    const letter = rest.charAt(0);
    rest = rest.slice(1);
    const entry = flagByShort.get(letter);
    if (entry === undefined) {
      reading.problems.push({ where: '', message: `unknown shorthand flag: '${letter}' in -${letters}` });
      return;
    }
    if (rest.startsWith('=')) {
      addUse(reading, entry, rest.slice(1));
      return;
    }
    if (entry.isBoolean) {
      addUse(reading, entry, 'true');
      continue;
    }
    const text = rest === '' ? words.shift() : rest;
    if (text === undefined) {
      reading.problems.push({ where: '', message: `flag needs an argument: '${letter}' in -${letters}` });
    } else {
      addUse(reading, entry, text);
    }
    return;
  }
}

function addUse(reading: Reading, entry: FlagEntry, text: string, name = entry.name): void {
  const texts = reading.uses.get(entry);
  if (texts === undefined) reading.uses.set(entry, [text]);
  else texts.push(text);
  if (name !== entry.name) {
    reading.warned.set(name, `Flag --${name} has been deprecated. Use --${entry.name}, its new name.`);
  }
  if (entry.deprecated !== undefined) {
    reading.warned.set(entry.name, `Flag --${entry.name} has been deprecated. ${entry.deprecated}`);
  }
}

function warnRemoved(reading: Reading, removed: RemovedFlag): void {
  reading.warned.set(
    removed.name,
    `Flag --${removed.name} was removed from the kubelet and is ignored. ${removed.instead}`,
  );
}
