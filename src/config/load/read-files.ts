// Reads the configuration file and its drop-ins. Pure except for the injected reader.
// Upstream: pkg/kubelet/kubeletconfig/configfiles, loadConfigFile and mergeKubeletConfigurations in cmd/kubelet/app.
import { dirname, isAbsolute, join } from 'node:path/posix';
import { describeError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import type { Problem } from '../problem.ts';
import type { Schema } from '../schema.ts';
import { type KubeletConfiguration, kubeletConfiguration } from '../table/kubelet-configuration.ts';
import { fileConfiguration, type GateSettings, withDefaults, withDropIn } from './complete.ts';
import { decodeObject, type Given } from './decode.ts';
import { parseDocument } from './document.ts';

export interface ConfigurationFiles {
  /** The text of a file. Rejects when it cannot be read. */
  read(path: string): Promise<string>;
  list(directory: string): Promise<readonly { readonly name: string; readonly isDirectory: boolean }[]>;
  /** Relative paths on the command line are resolved against it. Absolute. */
  readonly workingDirectory: string;
}

/** Collects problems and warnings. */
export interface Findings {
  readonly problems: Problem[];
  readonly warnings: string[];
}

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
const kind = 'KubeletConfiguration';

export async function readConfigFile(
  path: string,
  files: ConfigurationFiles,
  flagGates: GateSettings,
  findings: Findings,
): Promise<KubeletConfiguration> {
  const absolute = absolutePath(path, files.workingDirectory);
  const given = await readGiven(absolute, files, findings);
  const resolved = resolvePaths(kubeletConfiguration, given, dirname(absolute));
  return fileConfiguration(resolved, flagGates);
}

interface MergedDropIns {
  readonly config: KubeletConfiguration;
  /** Files of the directory that are not drop-ins. */
  readonly skipped: readonly string[];
}

/** Merges every *.conf file below the directory over the base, depth first in lexical order. */
export async function mergeDropIns(
  directory: string,
  base: KubeletConfiguration,
  files: ConfigurationFiles,
  flagGates: GateSettings,
  findings: Findings,
): Promise<MergedDropIns> {
  const all = await filePaths(absolutePath(directory, files.workingDirectory), files, findings);
  let config = base;
  for (const path of all.filter(isDropIn)) {
    config = withDefaults(withDropIn(config, await readGiven(path, files, findings)), flagGates);
  }
  return { config, skipped: all.filter((path) => !isDropIn(path)) };
}

function isDropIn(path: string): boolean {
  return path.endsWith('.conf');
}

async function filePaths(
  directory: string,
  files: ConfigurationFiles,
  findings: Findings,
): Promise<readonly string[]> {
  const paths: string[] = [];
  try {
    const entries = await files.list(directory);
    for (const { name, isDirectory } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(directory, name);
      if (isDirectory) paths.push(...(await filePaths(path, files, findings)));
      else paths.push(path);
    }
  } catch (err) {
    findings.problems.push({
      where: '--config-dir',
      message: `${directory} cannot be read: ${describeError(err)}`,
    });
  }
  return paths;
}

async function readGiven(path: string, files: ConfigurationFiles, findings: Findings): Promise<Given> {
  const text = await readText(path, files, findings);
  if (text === undefined) return {};
  return decodeTyped(
    { name: path, text, apiVersions: [apiVersion], kind, schema: kubeletConfiguration },
    findings,
  );
}

export async function readText(
  path: string,
  files: ConfigurationFiles,
  findings: Findings,
): Promise<string | undefined> {
  try {
    const text = await files.read(path);
    if (text.trim() !== '') return text;
    findings.problems.push({ where: path, message: 'the file is empty' });
  } catch (err) {
    findings.problems.push({ where: path, message: `the file cannot be read: ${describeError(err)}` });
  }
  return undefined;
}

interface TypedText {
  readonly name: string;
  readonly text: string;
  readonly apiVersions: readonly string[];
  readonly kind: string;
  readonly schema: Schema;
}

/** Decodes a document and checks its apiVersion and kind. */
export function decodeTyped({ name, text, apiVersions, kind, schema }: TypedText, findings: Findings): Given {
  const document = parseDocument(name, text);
  findings.problems.push(...document.problems);
  findings.warnings.push(...document.warnings);
  if (!isObject(document.value)) {
    if (document.problems.length === 0)
      findings.problems.push({ where: name, message: `must be a ${kind} object` });
    return {};
  }
  const { apiVersion: version, kind: givenKind, ...rest } = document.value;
  const expect = (field: string, value: unknown, allowed: readonly string[]): void => {
    if (typeof value === 'string' && allowed.includes(value)) return;
    const actual = typeof value === 'string' ? `not ${JSON.stringify(value)}` : 'but it is missing';
    findings.problems.push({
      where: document.where([field]),
      message: `must be ${allowed.join(' or ')}, ${actual}`,
    });
  };
  expect('apiVersion', version, apiVersions);
  expect('kind', givenKind, [kind]);
  return decodeObject(schema, rest, [], (path, message) => {
    findings.problems.push({ where: document.where(path), message });
  });
}

/** Resolves relative paths in a file against the directory of the file. */
function resolvePaths(schema: Schema, given: Given, directory: string): Given {
  const resolved: Record<string, unknown> = { ...given };
  for (const [name, field] of Object.entries(schema)) {
    const value = given[name];
    if (field.kind === 'object' && isObject(value)) {
      resolved[name] = resolvePaths(field.fields ?? {}, value, directory);
    } else if (field.path && typeof value === 'string' && value !== '' && !isAbsolute(value)) {
      resolved[name] = absolutePath(value, directory);
    }
  }
  return resolved;
}

export function absolutePath(path: string, directory: string): string {
  if (isAbsolute(path)) return path;
  const joined = join(directory, path);
  return joined.length > 1 && joined.endsWith('/') ? joined.slice(0, -1) : joined;
}
