// Loads the effective configuration: files, drop-ins, flags and gates, in upstream's order of precedence.
// Upstream: NewKubeletCommand in cmd/kubelet/app/server.go. Pure except for the injected files.
import { join } from 'node:path/posix';
import { redactUrl } from '../../base/log/redact-url.ts';
import { type FlagEntry, flagByName, foldUses } from '../command-line/flag-index.ts';
import type { ParsedArgs } from '../command-line/parse-args.ts';
import { isSecret, isUrl } from '../command-line/redact-arguments.ts';
import { type FeatureGates, resolveGates } from '../gates/feature-gates.ts';
import type { Problem } from '../problem.ts';
import { defaultsOf } from '../schema.ts';
import type { KubeletConfiguration } from '../table/kubelet-configuration.ts';
import { type KubeletFlags, kubeletFlags } from '../table/kubelet-flags.ts';
import { legacyConfiguration } from './complete.ts';
import { type CredentialProviders, readCredentialProviders } from './credential-providers.ts';
import { type ConfigurationFiles, type Findings, mergeDropIns, readConfigFile } from './read-files.ts';

export interface Loaded {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  /** From --image-credential-provider-config; undefined without that flag. */
  readonly credentialProviders: CredentialProviders | undefined;
  readonly warnings: readonly string[];
  /** Files below --config-dir that were not read, since they are not named *.conf. */
  readonly skippedFiles: readonly string[];
}

/** Parses the flags that are not config fields. Reports the invalid values of all flags, before any file is read. */
export function readFlags(args: ParsedArgs, findings: Findings): KubeletFlags {
  let flags: KubeletFlags = defaultsOf(kubeletFlags);
  for (const [entry, texts] of args.uses) {
    const { value, problems } = foldUses(entry, texts, entry.field.default);
    for (const problem of problems) {
      findings.problems.push({
        where: `--${entry.name}`,
        message: `invalid value ${describeTexts(entry, texts)}: ${problem}`,
      });
    }
    if (entry.table === 'flags') flags = setIn(flags, entry.path, value);
  }
  return flags;
}

interface LoadResult extends Loaded {
  /** Problems of the configuration file and the drop-ins. Validation is skipped if there are any. */
  readonly fileProblems: readonly Problem[];
  /** Problems of gates and credential providers. */
  readonly problems: readonly Problem[];
}

export async function loadConfiguration(
  args: ParsedArgs,
  flags: KubeletFlags,
  files: ConfigurationFiles,
): Promise<LoadResult> {
  const findings: Findings = { problems: [], warnings: [...args.warnings] };
  const flagGates = gatesFromFlags(args);
  let skippedFiles: readonly string[] = [];
  let config =
    flags.config === ''
      ? legacyConfiguration(flagGates)
      : await readConfigFile(flags.config, files, flagGates, findings);
  if (flags.configDir !== '')
    ({ config, skipped: skippedFiles } = await mergeDropIns(
      flags.configDir,
      config,
      files,
      flagGates,
      findings,
    ));
  config = withServingPair(applyFlags(config, args), flags);
  const fileProblems = findings.problems.splice(0);
  const { gates, ...resolved } = resolveGates(config.featureGates);
  findings.problems.push(...resolved.problems);
  findings.warnings.push(...resolved.warnings);
  const providers = flags.imageCredentialProviderConfig;
  const credentialProviders =
    providers === '' ? undefined : await readCredentialProviders(providers, files, gates, findings);
  return { config, flags, gates, credentialProviders, fileProblems, skippedFiles, ...findings };
}

/** Flags take precedence over the files; feature gates are merged. */
function applyFlags(base: KubeletConfiguration, args: ParsedArgs): KubeletConfiguration {
  let config = base;
  for (const [entry, texts] of args.uses) {
    if (entry.table !== 'config') continue;
    const { value } = foldUses(entry, texts, getIn(config, entry.path));
    config = setIn(config, entry.path, value);
  }
  return { ...config, featureGates: { ...base.featureGates, ...config.featureGates } };
}

function gatesFromFlags(args: ParsedArgs): Readonly<Record<string, boolean>> {
  const entry = flagByName.get('feature-gates');
  const texts = entry === undefined ? undefined : args.uses.get(entry);
  if (entry === undefined || texts === undefined) return {};
  return foldUses(entry, texts, {}).value as Readonly<Record<string, boolean>>;
}

/** Without configured files and without bootstrap, the serving pair is in --cert-dir. */
function withServingPair(config: KubeletConfiguration, flags: KubeletFlags): KubeletConfiguration {
  if (config.serverTLSBootstrap || config.tlsCertFile !== '' || config.tlsPrivateKeyFile !== '')
    return config;
  return { ...config, ...selfSignedPair(flags) };
}

function selfSignedPair(
  flags: KubeletFlags,
): Pick<KubeletConfiguration, 'tlsCertFile' | 'tlsPrivateKeyFile'> {
  return {
    tlsCertFile: join(flags.certDir, 'kubelet.crt'),
    tlsPrivateKeyFile: join(flags.certDir, 'kubelet.key'),
  };
}

/** Whether the kubelet creates the serving pair itself: no other one is configured. */
export function isSelfSigned(config: KubeletConfiguration, flags: KubeletFlags): boolean {
  const pair = selfSignedPair(flags);
  return (
    !config.serverTLSBootstrap &&
    config.tlsCertFile === pair.tlsCertFile &&
    config.tlsPrivateKeyFile === pair.tlsPrivateKeyFile
  );
}

type Values = { readonly [name: string]: unknown };

function getIn(value: object, path: readonly string[]): unknown {
  let current: unknown = value;
  for (const step of path) current = (current as Values | undefined)?.[step];
  return current;
}

function setIn<T extends object>(value: T, path: readonly string[], leaf: unknown): T {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  const inner = (value as Values)[step];
  return { ...value, [step]: rest.length === 0 ? leaf : setIn(inner ?? {}, rest, leaf) };
}

function describeTexts(entry: FlagEntry, texts: readonly string[]): string {
  if (isSecret(entry)) return '';
  return texts.map((text) => JSON.stringify(isUrl(entry) ? redactUrl(text) : text)).join(', ');
}
