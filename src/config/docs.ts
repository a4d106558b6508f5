// The reference pages, generated from the tables: docs/configuration.md, docs/flags.md, docs/feature-gates.md.
// Pure text; `make generate` writes it, and a test fails when the pages differ from it.

import { allFlags, type FlagEntry } from './command-line/flag-index.ts';
import { flagDefault, shownType } from './command-line/help.ts';
import { removedFlags } from './command-line/removed-flags.ts';
import { Duration } from './duration.ts';
import { describeEffect } from './effect.ts';
import { type GateName, type GateSpec, gateTable } from './gates/table.ts';
import { pathText } from './load/document.ts';
import type { Applies, Field, Kind, Schema } from './schema.ts';
import { credentialProviderConfig } from './table/credential-providers.ts';
import { kubeletConfiguration } from './table/kubelet-configuration.ts';
import { insecureCipherSuites, preferredCipherSuites } from './tls-names.ts';
import { upstreamVersion } from './version.ts';

const generated = '<!-- Generated from src/config by make generate. Change the tables, not this page. -->\n';

/** File name to text. */
export function referencePages(): Readonly<Record<string, string>> {
  return {
    'configuration.md': configurationPage(),
    'flags.md': flagsPage(),
    'feature-gates.md': gatesPage(),
  };
}

const kindNames: Readonly<Record<Kind, string>> = {
  boolean: 'boolean',
  int32: 'integer',
  int64: 'integer',
  uint32: 'integer',
  float: 'number',
  string: 'string',
  duration: 'duration',
  time: 'duration',
  quantity: 'quantity',
  timestamp: 'time',
  strings: 'list of strings',
  integers: 'list of integers',
  stringMap: 'map to strings',
  booleanMap: 'map to booleans',
  stringListMap: 'map to lists of strings',
  quantityMap: 'map to quantities',
  object: 'object',
  objects: 'list of objects',
};

function configurationPage(): string {
  return `${generated}
# Configuration

The kubelet reads \`KubeletConfiguration\` of \`kubelet.config.k8s.io/v1beta1\`, in YAML or JSON, from the
\`--config\` file. It supports every field of ${upstreamVersion}.

- Decoding is strict: an unknown field, a duplicate key or a value of the wrong type is an error, reported with its path
  and line.
- \`--config-dir\` names a directory of drop-ins. Every \`*.conf\` file in it and below is merged over the file in lexical
  order: objects and maps are merged, lists replaced, \`null\` resets to the default.
- A flag on the command line takes precedence over both. Feature gates of file, drop-ins and flags are merged.
- Without \`--config\` the defaults of four fields are those of older kubelets, and there are no eviction thresholds; this
  is noted below as "without a file".
- A relative path in the file is resolved against the directory of the file.
- The whole configuration is validated before anything starts, and all violations are reported together.
- "No effect yet" marks a setting that is decoded, validated and shown by /configz, but that this kubelet does not act on
  yet. Setting it to something other than its default logs a warning at start. [parity.md](parity.md#not-yet) lists all of
  them by what is missing.

Differences from upstream:

- Unknown fields and duplicate keys are errors. Upstream warns about them in the file, and ignores unknown fields in
  drop-ins.
- \`runOnce\` works without the server. Upstream rejects it.
- A removed flag is ignored with a warning, see [flags](flags.md). Upstream fails to start.
- Thresholds, reserved resources, policies, cipher suites and the like are part of the validation. Upstream checks them
  one at a time, when it builds the component that uses them.

"A change applies" is what [live configuration](live-configuration.md) does with a changed field while the kubelet runs:
\`now\` in the running kubelet, \`new pods\` in pods that start later, \`restart\` when the kubelet is restarted. Without that
feature every change waits for the restart, and so does a change of the gate that a field needs.

The format of durations is \`1h30m\`, \`10s\`, \`100ms\`; that of quantities \`10Mi\`, \`500m\`. /configz shows the effective
configuration of a running kubelet.

| field | type | default | flag | a change applies | description |
| --- | --- | --- | --- | --- | --- |
${table(kubeletConfiguration, [], 'restart')}
# Cipher suites

Of \`tlsCipherSuites\`: ${codeList(preferredCipherSuites)}.

Accepted with a warning because they are weak: ${codeList(insecureCipherSuites)}.

# CredentialProviderConfig

\`--image-credential-provider-config\` is a file of \`kubelet.config.k8s.io/v1\`, or a directory of \`.json\`, \`.yaml\` and
\`.yml\` files, which are read in lexical order.

| field | type | default | flag | description |
| --- | --- | --- | --- | --- |
${table(credentialProviderConfig, [])}`;
}

function codeList(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ');
}

/** The rows of a table; with a column for when a change applies if `applies` is given, the class that rows inherit. */
function table(schema: Schema, path: readonly string[], applies?: Applies): string {
  return Object.entries(schema)
    .map(([name, field]) => rows(field, [...path, field.kind === 'objects' ? `${name}[]` : name], applies))
    .join('');
}

function rows(field: Field<unknown>, path: readonly string[], inherited?: Applies): string {
  const name = path.join('.');
  const flag = field.flag === undefined ? '' : `\`--${field.flag.name}\``;
  const applies = inherited && (field.applies ?? inherited);
  const cells = [
    `\`${name}\``,
    kindNames[field.kind],
    defaultCell(field),
    flag,
    ...(applies === undefined ? [] : [field.kind === 'object' ? '' : applyNames[applies]]),
    description(field),
  ];
  return `| ${cells.join(' | ')} |\n${field.fields === undefined ? '' : table(field.fields, path, applies)}`;
}

const applyNames: Readonly<Record<Applies, string>> = {
  now: 'now',
  'new-pods': 'new pods',
  restart: 'restart',
};

/** The default of a setting without markup, with a note on what it depends on. */
export function settingDefault(field: Field<unknown>): string {
  return defaultCell(field).replaceAll('`', '');
}

function defaultCell(field: Field<unknown>): string {
  if (field.kind === 'object' && !field.optional) return '';
  const parts = [valueText(field.fileDefault ?? field.default)];
  if (field.defaultNote !== undefined) parts.push(field.defaultNote);
  if (field.legacyDefault !== undefined) parts.push(`${valueText(field.legacyDefault)} without a file`);
  if (field.fileDefault !== undefined) parts.push('none without a file');
  return parts.filter((part) => part !== '').join('; ');
}

function valueText(value: unknown): string {
  if (value === undefined || value === '') return '';
  if (value instanceof Duration) return `\`${value}\``;
  if (Array.isArray(value)) return value.length === 0 ? '' : `\`[${value.join(', ')}]\``;
  if (typeof value === 'object') {
    return Object.entries(value as Record<string, string>)
      .map(([key, inner]) => `\`${key}: ${inner}\``)
      .join(' ');
  }
  return `\`${value as string | number | boolean}\``;
}

function description(field: Field<unknown>): string {
  const parts = [field.doc];
  if (field.oneOf !== undefined) {
    parts.push(`One of ${codeList(field.oneOf.filter((word) => word !== ''))}.`);
  }
  const { min, max } = field;
  if (min !== undefined) parts.push(max === undefined ? `At least ${min}.` : `From ${min} to ${max}.`);
  else if (max !== undefined) parts.push(`At most ${max}.`);
  if (field.minDuration !== undefined) parts.push(`At least ${field.minDuration}.`);
  if (field.gate !== undefined) parts.push(`Needs the feature gate \`${field.gate}\`.`);
  if (field.actsWith !== undefined) parts.push(`Takes effect with the feature gate \`${field.actsWith}\`.`);
  if (field.effect !== undefined) parts.push(describeEffect(field.effect));
  return escape(parts.join(' '));
}

/** A bar would end the cell, and angle brackets would be HTML. */
function escape(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function flagsPage(): string {
  const listed = allFlags.map(flagRow).join('');
  const removed = [...removedFlags.values()]
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, instead }) => `| \`--${name}\` | ${escape(instead)} |\n`)
    .join('');
  return `${generated}
# Flags

All flags of the kubelet ${upstreamVersion}. \`--a=b\` and \`--a b\` are equivalent, \`_\` stands for \`-\`, a boolean flag
without a value means true, lists and maps may be split over several uses. A flag with a field is deprecated in favour of the
[configuration](configuration.md); it still works, takes precedence over the file, and warns once.

| flag | type | default | field | description |
| --- | --- | --- | --- | --- |
${listed}
# Flags of older kubelets

Unit files may still contain these. They are accepted and ignored, each with one warning that names the replacement.

| flag | replacement |
| --- | --- |
${removed}`;
}

function flagRow(entry: FlagEntry): string {
  const name = entry.short === undefined ? `\`--${entry.name}\`` : `\`-${entry.short}\`, \`--${entry.name}\``;
  const value = flagDefault(entry);
  const own =
    entry.table === 'flags' && entry.deprecated !== undefined ? ` Deprecated. ${entry.deprecated}` : '';
  const { formerName } = entry.spec;
  const former = formerName === undefined ? '' : ` Deprecated name: \`--${formerName}\`.`;
  const effect = entry.field.effect === undefined ? '' : ` ${escape(describeEffect(entry.field.effect))}`;
  const field = entry.table === 'config' ? `\`${pathText(entry.path)}\`` : '';
  const cells = [
    name,
    shownType(entry),
    value === '' ? '' : `\`${value}\``,
    field,
    `${escape(entry.field.doc)}${own}${former}${effect}`,
  ];
  return `| ${cells.join(' | ')} |\n`;
}

const stageNames: Readonly<Record<GateSpec['stage'], string>> = {
  ALPHA: 'alpha',
  BETA: 'beta',
  '': 'stable',
  DEPRECATED: 'deprecated',
};

function gatesPage(): string {
  const fields = gatedFields(kubeletConfiguration, []);
  const listed = (Object.entries(gateTable) as [GateName, GateSpec][])
    .map(([name, spec]) => {
      const used = fields.filter(([gate]) => gate === name).map(([, path]) => `\`${path}\``);
      const lock = spec.locked ? 'locked' : '';
      const effect = spec.effect === undefined ? 'Acted on.' : escape(describeEffect(spec.effect));
      return `| \`${name}\` | ${stageNames[spec.stage]} | ${spec.default} | ${lock} | ${effect} | ${used.join(', ')} |\n`;
    })
    .join('');
  return `${generated}
# Feature gates

Set by \`featureGates\` in the [configuration](configuration.md) or by \`--feature-gates\`. These are the gates of a kubelet
${upstreamVersion}; most of them guard other components and are accepted so that all components can share one list.

- \`AllAlpha\` and \`AllBeta\` switch all gates of their stage that are not set explicitly.
- An unknown gate, or a locked one set to anything but its default, is an error. For a gate that an earlier release had,
  the error names the release that removed it.
- A gate that is on while a gate it depends on is off is an error. \`AllAlpha=true\` alone is one, since several alpha
  gates depend on beta gates that are off by default.
- A gate that is off by default and marked "No effect yet" cannot be enabled: the start fails and names it. The same
  holds for \`AllAlpha\` and \`AllBeta\`; set the gates that the error lists to false beside them. Upstream implements
  them all.
- Setting a stable or deprecated gate logs a warning, since a later release will remove it.
- The metric \`kubernetes_feature_enabled\` has the effective value of every gate.
- Any other gate with "No effect yet" or "Always on" that is set to something other than its default logs a warning.
  "Other components" marks the gates that no kubelet reads.

| gate | stage | default | | in this kubelet | fields |
| --- | --- | --- | --- | --- | --- |
${listed}`;
}

function gatedFields(schema: Schema, path: readonly string[]): readonly (readonly [GateName, string])[] {
  return Object.entries(schema).flatMap(([name, field]) => {
    const here = [...path, name];
    const gate = field.gate ?? field.actsWith;
    const inner = field.kind === 'object' ? gatedFields(field.fields ?? {}, here) : [];
    return gate === undefined ? inner : [[gate, pathText(here)] as const, ...inner];
  });
}
