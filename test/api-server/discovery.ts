// Discovery: version, groups and resources.
// Upstream: apiserver/pkg/endpoints/discovery.
import { apiVersionOf, type ResourceType, resourceTypes } from './objects/resources.ts';

/** The newest release that the double acts as. */
export const newestMinor = 37;

const version = {
  major: '1',
  gitCommit: '0000000000000000000000000000000000000000',
  gitTreeState: 'clean',
  buildDate: '2026-01-01T00:00:00Z',
  goVersion: 'none',
  compiler: 'none',
  platform: 'linux/amd64',
};

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** The document at this path; undefined if it is not a discovery path. */
export function discovery(path: string, minor: number): object | undefined {
  if (path === '/version') return { ...version, minor: String(minor), gitVersion: `v1.${minor}.0+double` };
  if (path === '/healthz' || path === '/livez' || path === '/readyz') return { status: 'ok' };
  if (path === '/api') {
    return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
  }
  if (path === '/apis')
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: groupNames().map(groupDocument) };
  if (path === '/openapi/v3') return openApiIndex();
  const openApi = /^\/openapi\/v3\/(.+)$/.exec(path)?.[1];
  if (openApi !== undefined) return openApiDocument(openApi);
  return resourceList(path.replace(/^\/apis?\//, ''), path.startsWith('/apis/'));
}

function groupNames(): readonly string[] {
  return [...new Set(resourceTypes.map(({ group }) => group))].filter((group) => group !== '');
}

function groupDocument(name: string): object {
  const groupVersion = { groupVersion: `${name}/v1`, version: 'v1' };
  return { name, versions: [groupVersion], preferredVersion: groupVersion };
}

function resourceList(groupVersion: string, grouped: boolean): object | undefined {
  if (grouped && groupNames().includes(groupVersion)) {
    return { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(groupVersion) };
  }
  const types = resourceTypes.filter((type) => apiVersionOf(type) === groupVersion);
  if (types.length === 0) return undefined;
  return { kind: 'APIResourceList', groupVersion, resources: types.flatMap(resourceDocuments) };
}

function resourceDocuments(type: ResourceType): object[] {
  const { plural: name, singular: singularName, namespaced, kind, shortNames } = type;
  const main = {
    name,
    singularName,
    namespaced,
    kind,
    verbs: type.virtual ? ['create'] : verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(name === 'pods' || name === 'services' ? { categories: ['all'] } : {}),
  };
  const below = [...(type.hasStatus ? ['status'] : []), ...type.subresources];
  return [
    main,
    ...below.map((each) => ({
      name: `${name}/${each}`,
      singularName: '',
      namespaced,
      kind,
      verbs: ['create', 'get', 'patch', 'update'],
    })),
  ];
}

function openApiPath(groupVersion: string): string {
  return groupVersion.includes('/') ? `apis/${groupVersion}` : `api/${groupVersion}`;
}

function openApiIndex(): object {
  const versions = [...new Set(resourceTypes.map(apiVersionOf))];
  const entry = (path: string): [string, object] => [path, { serverRelativeURL: `/openapi/v3/${path}` }];
  return { paths: Object.fromEntries(versions.map((each) => entry(openApiPath(each)))) };
}

/** Just enough for kubectl to see that the server validates fields, so that it requests no schema. */
function openApiDocument(path: string): object | undefined {
  const types = resourceTypes.filter((type) => openApiPath(apiVersionOf(type)) === path);
  if (types.length === 0) return undefined;
  const paths = types.map((type): [string, object] => {
    const where = type.namespaced ? '/namespaces/{namespace}' : '';
    const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
      name,
      in: 'query',
      schema: { type: 'string' },
    }));
    const operation = {
      parameters,
      'x-kubernetes-group-version-kind': { group: type.group, version: type.version, kind: type.kind },
    };
    return [`/${path}${where}/${type.plural}/{name}`, { patch: operation, put: operation }];
  });
  return {
    openapi: '3.0.0',
    info: { title: 'double', version: 'v1.37.0' },
    paths: Object.fromEntries(paths),
  };
}
