import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readGoStructs } from './read-go.ts';
import { makeTable, type Schema } from './read-openapi.ts';
import { renderDecodeSchema } from './render-decode.ts';
import { renderDefaults } from './render-defaults.ts';
import { renderMergeKeys } from './render-merge-keys.ts';
import { renderProtobuf } from './render-protobuf.ts';
import { renderTypes } from './render-types.ts';
import { roots } from './roots.ts';
import { formatTable, parseTable, reachable, tablePath } from './table.ts';

const goSource = `
type Pod struct {
	metav1.TypeMeta \`json:",inline"\`
	// +optional
	metav1.ObjectMeta \`json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"\`
	Spec PodSpec \`json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"\`
}

type PodSpec struct {
	// Old *string \`json:"old,omitempty" protobuf:"bytes,9,opt,name=old"\`
	Volumes []Volume \`json:"volumes,omitempty" patchStrategy:"merge" protobuf:"bytes,1,rep,name=volumes"\`
	Overhead ResourceList \`json:"overhead,omitempty" protobuf:"bytes,32,rep,name=overhead"\`
	Port intstr.IntOrString \`json:"port" protobuf:"bytes,7,opt,name=port"\`
	Grace *int64 \`json:"grace,omitempty" protobuf:"varint,4,opt,name=grace"\`
	Protocol string \`json:"protocol,omitempty" protobuf:"bytes,5,opt,name=protocol"\`
}

type Volume struct {
	Name string \`json:"name" protobuf:"bytes,1,opt,name=name"\`
	VolumeSource \`json:"" protobuf:"bytes,2,opt,name=volumeSource"\`
}

type VolumeSource struct {
	Path *string \`json:"path,omitempty" protobuf:"bytes,1,opt,name=path"\`
}
`;
const metaSource = `
type ObjectMeta struct {
	Name string \`json:"name,omitempty" protobuf:"bytes,1,opt,name=name"\`
	CreationTimestamp Time \`json:"creationTimestamp,omitempty,omitzero" protobuf:"bytes,8,opt,name=creationTimestamp"\`
}
`;

const ref = (id: string) => ({ $ref: `#/components/schemas/io.k8s.${id}` });
const podSpec: Schema = {
  type: 'object',
  required: ['port'],
  properties: {
    volumes: {
      type: 'array',
      items: ref('api.core.v1.Volume'),
      'x-kubernetes-patch-strategy': 'merge,retainKeys',
      'x-kubernetes-patch-merge-key': 'name',
      'x-kubernetes-list-map-keys': ['name'],
    },
    overhead: {
      type: 'object',
      additionalProperties: ref('apimachinery.pkg.api.resource.Quantity'),
    },
    port: { ...ref('apimachinery.pkg.util.intstr.IntOrString') },
    grace: { type: 'integer', format: 'int64', default: 0 },
    protocol: { type: 'string', default: 'TCP' },
  },
};
const schemas: Readonly<Record<string, Schema>> = {
  'io.k8s.api.core.v1.Pod': {
    type: 'object',
    properties: {
      kind: { type: 'string' },
      apiVersion: { type: 'string' },
      metadata: { allOf: [ref('apimachinery.pkg.apis.meta.v1.ObjectMeta')], default: {} },
      spec: { allOf: [ref('api.core.v1.PodSpec')], default: {} },
    },
    'x-kubernetes-group-version-kind': [{ group: '', version: 'v1', kind: 'Pod' }],
  },
  'io.k8s.api.core.v1.PodSpec': podSpec,
  'io.k8s.api.core.v1.Volume': {
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', default: '' }, path: { type: 'string' } },
  },
  'io.k8s.api.core.v1.Unused': { type: 'object', properties: {} },
  'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': {
    type: 'object',
    properties: {
      name: { type: 'string' },
      creationTimestamp: { allOf: [ref('apimachinery.pkg.apis.meta.v1.Time')] },
    },
  },
};

function make(documents: Readonly<Record<string, Schema>>[] = [schemas]) {
  return makeTable(
    {
      name: 'v1.0.0',
      documents: documents.map((each) => ({ components: { schemas: each } })),
      goStructs: (pkg) => readGoStructs(pkg === 'meta/v1' ? metaSource : goSource),
    },
    ['core/v1.Pod'],
  );
}

const wanted = `release v1.0.0

core/v1.Pod v1 Pod
  apiVersion string
  kind string
  metadata meta/v1.ObjectMeta @1
  spec PodSpec @2

core/v1.PodSpec
  volumes []Volume @1 merge=name retainKeys keys=name
  overhead {}quantity @32
  port intOrString @7 required
  grace int64 @4 pointer default=0
  protocol string @5 default="TCP"

core/v1.Volume
  name string @1 required
  path string @2.1 pointer

meta/v1.ObjectMeta
  name string @1
  creationTimestamp time @8
`;

describe('the import of a release', () => {
  test('reads fields from OpenAPI; order, numbers and pointers from Go; only what a root reaches', () => {
    const text = formatTable(make());
    expect(text.slice(text.indexOf('release'))).toBe(wanted);
  });

  const { port: _port, ...withoutPort } = podSpec.properties ?? {};
  const mismatches = [
    ['a field that OpenAPI lacks', withoutPort, 'core/v1.PodSpec.port is in Go but not in OpenAPI'],
    [
      'a field that Go lacks',
      { ...podSpec.properties, extra: { type: 'string' } },
      'core/v1.PodSpec.extra is in OpenAPI but not in Go',
    ],
  ] as const;
  for (const [name, properties, message] of mismatches)
    test(`fails on ${name}`, () => {
      const changed = { ...schemas, 'io.k8s.api.core.v1.PodSpec': { ...podSpec, properties } };
      expect(() => make([changed])).toThrow(message);
    });

  test('fails on a root that no document has', () => {
    expect(() => make([{}])).toThrow('no OpenAPI document has core/v1.Pod');
  });
});

describe('the types of the table', () => {
  test('are optional unless required, literal for the kind of an object, imported from other groups', () => {
    const files = renderTypes(make());
    expect(Object.keys(files)).toEqual([
      'src/api/k8s/generated/core-v1.ts',
      'src/api/k8s/generated/meta-v1.ts',
    ]);
    const core = files['src/api/k8s/generated/core-v1.ts'] ?? '';
    expect(core.slice(core.indexOf('import'))).toBe(`import type { ObjectMeta } from './meta-v1.ts';

export interface Pod {
  apiVersion?: 'v1';
  kind?: 'Pod';
  metadata?: ObjectMeta;
  spec?: PodSpec;
}

export interface PodSpec {
  volumes?: Array<Volume>;
  overhead?: Record<string, string>;
  port: number | string;
  grace?: number;
  protocol?: string;
}

export interface Volume {
  name: string;
  path?: string;
}
`);
  });
});

test('the decode schema has one line per struct that a pod reaches, without groups', () => {
  const text = renderDecodeSchema(make());
  expect(text.slice(text.indexOf('export'))).toBe(`export const podFields: TypeTable = {
  Pod: { apiVersion: 'string', kind: 'string', metadata: 'ObjectMeta', spec: 'PodSpec' },
  PodSpec: { volumes: '[]Volume', overhead: '{}quantity', port: 'intOrString', grace: 'int64', protocol: 'string' },
  Volume: { name: 'string', path: 'string' },
  ObjectMeta: { name: 'string', creationTimestamp: 'time' },
};
`);
});

test('the protobuf messages have a number for every field, a star for pointers, and no type meta', () => {
  const text = renderProtobuf(make());
  expect(
    text.slice(text.indexOf('export')),
  ).toBe(`export const podMessages: Readonly<Record<string, string>> = {
  Pod: 'metadata:ObjectMeta@1 spec:PodSpec@2',
  PodSpec: 'volumes:[]Volume@1 overhead:{}quantity@32 port:intOrString@7 grace:int64@4* protocol:string@5',
  Volume: 'name:string@1 path:string@2.1*',
  ObjectMeta: 'name:string@1 creationTimestamp:time@8',
};
`);
});

describe('the merge keys', () => {
  const text = `release v1.0.0

core/v1.Pod v1 Pod
  metadata meta/v1.ObjectMeta @1
  containers []Container @2 merge=name
  replaced []Container @3

core/v1.PodList v1 PodList
  items []Pod @1

core/v1.Container
  env []Env @1 merge=name

core/v1.Env
  name string @1

meta/v1.ObjectMeta
  finalizers []string @1 merge=
`;

  test('are listed by path, below merged lists too, but not below lists that are replaced', () => {
    const rendered = renderMergeKeys(parseTable(text));
    expect(rendered.slice(rendered.indexOf('export'))).toBe(`export const mergeKeysOfPod: MergeKeys = {
  'metadata.finalizers': '',
  'containers': 'name',
  'containers.env': 'name',
};

export const mergeKeysByKind: Readonly<Record<string, MergeKeys>> = {
  Pod: mergeKeysOfPod,
};
`);
  });

  test('fail if two kinds of the same name differ', () => {
    const other = text.replace(
      'core/v1.PodList v1 PodList\n',
      'core/v2.Pod v2 Pod\n  metadata meta/v1.ObjectMeta\n',
    );
    expect(() => renderMergeKeys(parseTable(other))).toThrow('two kinds are called Pod');
  });
});

describe('the constant defaults', () => {
  test('come from OpenAPI and from Go code, pointers apart from values', () => {
    const text = renderDefaults(make(), { 'core/v1.Volume': { path: '/' } });
    expect(text.slice(text.indexOf('> = {'))).toBe(`> = {
  PodSpec: { ifAbsent: { grace: 0 }, ifEmpty: { protocol: "TCP" } },
  Volume: { ifAbsent: { path: "/" }, ifEmpty: {} },
};
`);
  });

  const faults = [
    ['a field that the table lacks', { 'core/v1.Volume': { paht: '/' } }, 'core/v1.Volume has no field paht'],
    [
      'a type that the table lacks',
      { 'core/v1.Volum': { path: '/' } },
      'the table has no type core/v1.Volum',
    ],
    [
      'a default that OpenAPI has',
      { 'core/v1.PodSpec': { protocol: 'UDP' } },
      'OpenAPI already has the default of core/v1.PodSpec.protocol',
    ],
  ] as const;
  for (const [name, given, message] of faults)
    test(`fail on ${name}`, () => expect(() => renderDefaults(make(), given)).toThrow(message));
});

describe('types.txt', () => {
  const text = readFileSync(tablePath, 'utf8');
  const table = parseTable(text);

  test('is what its parsed form is written as', () => {
    expect(formatTable(table)).toBe(text);
  });

  test('has every root, everything they refer to, and nothing else', () => {
    expect(reachable(table, roots)).toHaveLength(table.types.size);
  });
});
