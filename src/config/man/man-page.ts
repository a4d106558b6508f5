// Renders the manual page kubelet(8) from the tables, in man(7). Pure. Upstream has none; its reference page is on its website.
import { allFlags, type FlagEntry } from '../command-line/flag-index.ts';
import { flagDefault, shownType } from '../command-line/help.ts';
import { optionTerm, subcommandNames, subcommands, subcommandUsage } from '../command-line/subcommands.ts';
import { settingDefault } from '../docs.ts';
import { describeEffect } from '../effect.ts';
import { listedGates } from '../gates/feature-gates.ts';
import { pathText } from '../load/document.ts';
import type { Field, Schema } from '../schema.ts';
import { kubeletConfiguration } from '../table/kubelet-configuration.ts';
import { kubeletVersion, upstreamVersion } from '../version.ts';
import { bold, inline, italic, paragraphs, prose, section, tagged } from './roff.ts';
import { description, exitStatus, files, seeAlso, signals } from './sections.ts';

/** `date` is that of the package, such as 2026-01-31; without one the page has none, since it is rendered on demand. */
export function manPage(date = ''): string {
  return [
    `.TH KUBELET 8 "${date}" "kubelet ${inline(kubeletVersion)}" "Kubernetes"\n`,
    // No hyphenation, which would split the names of flags and fields, and ragged lines.
    '.nh\n.ad l\n',
    section('NAME', 'kubelet \\- node agent of Kubernetes\n'),
    section('SYNOPSIS', synopsis()),
    section(
      'DESCRIPTION',
      paragraphs([...description, `This is a kubelet for Kubernetes ${upstreamVersion}.`]),
    ),
    section('COMMANDS', commands()),
    section('OPTIONS', options()),
    section('CONFIGURATION FILE', configurationFile()),
    section('FEATURE GATES', featureGates()),
    section('FILES', files.map(([path, text]) => tagged(italic(path), text)).join('')),
    section('EXIT STATUS', exitStatus.map(([status, text]) => tagged(bold(status), text)).join('')),
    section('SIGNALS', signals.map(([names, text]) => tagged(bold(names), text)).join('')),
    section('SEE ALSO', seeAlsoText()),
  ].join('');
}

function synopsis(): string {
  return ['kubelet [flags]', ...subcommandNames.map(subcommandUsage)]
    .map((usage) => usage.replace(/^kubelet /, ''))
    .map((usage) => `\\fBkubelet\\fR ${inline(usage)}\n`)
    .join('.br\n');
}

function commands(): string {
  const list = subcommandNames.map((name) => {
    const { description: texts, options: own } = subcommands[name];
    const lines = own.map((option) => `${optionTerm(option)}: ${option.summary}.`);
    return tagged(bold(subcommandUsage(name).replace(/^kubelet /, '')), ...texts, ...lines);
  });
  return prose('A command is the first argument. Without one the kubelet runs.') + list.join('');
}

function options(): string {
  const introduction =
    '--a=b and --a b are equivalent, _ stands for -, a boolean flag without a value means true, lists and maps may be split over several uses.';
  return prose(introduction) + allFlags.map(option).join('');
}

function option(entry: FlagEntry): string {
  const { deprecated, field, name, short, spec, table, path } = entry;
  const long = bold(`--${name}`);
  const type = shownType(entry);
  const value = entry.isBoolean ? '' : `=${italic(type)}`;
  const term = `${short === undefined ? '' : `${bold(`-${short}`)}, `}${long}${value}`;
  const initial = flagDefault(entry);
  return tagged(
    term,
    [spec.doc ?? field.doc, ...details(field)].join(' '),
    entry.isBoolean ? `Type: ${type}.` : '',
    table === 'config' ? `Field: ${pathText(path)}.` : '',
    initial === '' ? '' : `Default: ${initial}`,
    deprecated === undefined ? '' : `Deprecated. ${deprecated}`,
    spec.formerName === undefined ? '' : `Deprecated name: --${spec.formerName}.`,
  );
}

/** What a value must be, and whether it has an effect. */
function details(field: Field<unknown>): readonly string[] {
  const { oneOf, effect, gate, actsWith, min, max } = field;
  return [
    oneOf === undefined ? '' : `One of ${oneOf.filter((word) => word !== '').join(', ')}.`,
    min === undefined ? '' : `At least ${min}.`,
    max === undefined ? '' : `At most ${max}.`,
    gate === undefined ? '' : `Needs the feature gate ${gate}.`,
    actsWith === undefined ? '' : `Takes effect with the feature gate ${actsWith}.`,
    effect === undefined ? '' : describeEffect(effect),
  ].filter((text) => text !== '');
}

function configurationFile(): string {
  const introduction =
    'The file has one document in YAML or JSON: apiVersion kubelet.config.k8s.io/v1beta1, kind KubeletConfiguration. The fields that are also flags are described there. These are the others:';
  return prose(introduction) + fieldsWithoutFlag(kubeletConfiguration, []);
}

function fieldsWithoutFlag(schema: Schema, path: readonly string[]): string {
  return Object.entries(schema)
    .map(([name, field]) => {
      const here = [...path, field.kind === 'objects' ? `${name}[]` : name];
      if (field.flag !== undefined) return '';
      const inner = field.fields === undefined ? '' : fieldsWithoutFlag(field.fields, here);
      if (field.kind === 'object') return inner;
      const initial = settingDefault(field);
      return `${tagged(
        bold(pathText(here)),
        [field.doc, ...details(field)].join(' '),
        initial === '' ? '' : `Default: ${initial}`,
      )}${inner}`;
    })
    .join('');
}

function featureGates(): string {
  const introduction =
    'Set by --feature-gates or featureGates. Stable and deprecated gates can be set, too. AllAlpha and AllBeta switch all gates of their stage that are not set explicitly.';
  const list = listedGates().map(({ name, spec }) =>
    tagged(
      bold(name),
      `${spec.stage.toLowerCase()}, default ${spec.default}.`,
      spec.effect === undefined ? '' : describeEffect(spec.effect),
    ),
  );
  return prose(introduction) + list.join('');
}

function seeAlsoText(): string {
  const pages = seeAlso.map(([page, chapter]) => `\\fB${inline(page)}\\fR(${chapter})`).join(',\n');
  return `${pages}\n.PP\n${prose('The documentation of Kubernetes: https://kubernetes.io/docs/')}`;
}
