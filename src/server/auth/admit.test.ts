import { describe, expect, test } from 'vitest';
import { KubeletError } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log/log.ts';
import { httpRequest } from '../fixtures/requests.ts';
import { type RouteName, type RouteRow, routeTable } from '../route-table.ts';
import type { Access } from './access-reviews.ts';
import { admission } from './admit.ts';
import { nodeAttributes } from './node-attributes.ts';

const fine = { fineGrained: true, allowGetStreams: false };
const row = (name: RouteName): RouteRow => {
  const found = routeTable.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no route ${name}`);
  return found;
};

describe('nodeAttributes', () => {
  const cases: readonly (readonly [RouteName, string, string, readonly string[]])[] = [
    ['health', 'GET', 'get', ['healthz', 'proxy']],
    ['healthCheck', 'GET', 'get', ['healthz', 'proxy']],
    ['pods', 'GET', 'get', ['pods', 'proxy']],
    ['runningPods', 'GET', 'get', ['pods', 'proxy']],
    ['explain', 'GET', 'get', ['pods', 'proxy']],
    ['history', 'GET', 'get', ['proxy']],
    ['explainEviction', 'GET', 'get', ['pods', 'proxy']],
    ['configz', 'GET', 'get', ['configz', 'proxy']],
    ['configHistory', 'GET', 'get', ['configz', 'proxy']],
    ['flagz', 'GET', 'get', ['configz']],
    ['statusz', 'GET', 'get', ['statusz']],
    ['summary', 'POST', 'create', ['stats']],
    ['metrics', 'GET', 'get', ['metrics']],
    ['cadvisorMetrics', 'GET', 'get', ['metrics']],
    ['sliMetrics', 'DELETE', 'delete', ['metrics']],
    ['systemLogs', 'GET', 'get', ['log']],
    ['checkpoint', 'POST', 'create', ['checkpoint']],
    ['containerLogs', 'GET', 'get', ['proxy']],
    ['uiLogs', 'GET', 'get', ['proxy']],
    ['profiles', 'GET', 'get', ['proxy']],
    ['heapSnapshot', 'GET', 'create', ['proxy']],
    ['logVerbosity', 'PUT', 'update', ['proxy']],
    ['uiAccess', 'GET', 'get', ['proxy']],
    ['uiFiles', 'GET', 'get', ['proxy']],
    ['uiLogs', 'GET', 'get', ['proxy']],
    ['uiStream', 'GET', 'get', ['proxy']],
    ['pods', 'PATCH', 'patch', ['pods', 'proxy']],
    ['pods', 'HEAD', '', ['pods', 'proxy']],
    ['configz', 'constructor', '', ['configz', 'proxy']],
    ['configz', '__proto__', '', ['configz', 'proxy']],
    ['run', 'POST', 'create', ['proxy']],
    ['exec', 'POST', 'create', ['proxy']],
    ['exec', 'GET', 'create', ['proxy']],
    ['attach', 'GET', 'create', ['proxy']],
    ['portForward', 'GET', 'create', ['proxy']],
  ];
  for (const [name, method, verb, subresources] of cases) {
    test(`${method} ${name}`, () => {
      expect(nodeAttributes(fine, row(name), method)).toEqual({ verb, subresources });
    });
  }

  test('covers every route', () => {
    expect(new Set(cases.map(([name]) => name))).toEqual(
      new Set(routeTable.map(({ name }) => name).filter((name) => !/^(resource|probe)Metrics$/.test(name))),
    );
  });

  test('uses only the coarse subresources without the gate', () => {
    const coarse = { ...fine, fineGrained: false };
    expect(nodeAttributes(coarse, row('pods'), 'GET').subresources).toEqual(['proxy']);
    expect(nodeAttributes(coarse, row('summary'), 'GET').subresources).toEqual(['stats']);
  });

  test('uses the verb get with --allow-get-streams, as upstream', () => {
    const back = { ...fine, allowGetStreams: true };
    expect(nodeAttributes(back, row('exec'), 'GET').verb).toBe('get');
  });
});

describe('admission', () => {
  async function ask(
    isAllowed: ((access: Access) => Promise<boolean>) | undefined,
    anonymous = true,
    { log = silentLogger, target = '/pods' }: { readonly log?: Logger; readonly target?: string } = {},
  ): Promise<object | undefined> {
    const admit = admission({
      authentication: {
        certificates: false,
        certificateUids: false,
        tokens: undefined,
        anonymous,
        clock: { now: () => 0 },
      },
      access: isAllowed && { isAllowed },
      settings: fine,
      log,
    });
    return await admit({ ...httpRequest('GET /pods'), path: target }, row('pods'));
  }

  test('answers 401 to unauthenticated clients', async () => {
    expect(await ask(async () => true, false)).toMatchObject({ status: 401, body: 'Unauthorized' });
  });

  test('logs the paths of unauthenticated clients in one line, without control characters', async () => {
    const logged: unknown[] = [];
    const info = (_: string, fields?: object): void => void logged.push(fields);
    const log: Logger = { ...silentLogger, v: () => ({ ...silentLogger.v(0), info }) };
    await ask(undefined, false, { log, target: '/logs/a\nE1117 fake\u001b[31m' });
    expect(logged).toEqual([{ path: '/logs/a%0AE1117%20fake%1B%5B31m', problem: 'no credentials' }]);
  });

  test('admits every authenticated client if everything is allowed', async () => {
    expect(await ask(undefined)).toBeUndefined();
  });

  test('admits after the first allowed subresource', async () => {
    const reviewed: string[] = [];
    const allow = (what: string) => async (access: Access) => {
      reviewed.push(access.subresource);
      return access.subresource === what;
    };
    expect(await ask(allow('pods'))).toBeUndefined();
    expect(await ask(allow('proxy'))).toBeUndefined();
    expect(reviewed).toEqual(['pods', 'pods', 'proxy']);
  });

  test('answers 403 with the attributes if none is allowed', async () => {
    expect(await ask(async () => false)).toMatchObject({
      status: 403,
      body: 'Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    });
  });

  test('answers 500 if a review fails, without trying the next subresource', async () => {
    const reviewed: string[] = [];
    const answer = await ask(async ({ subresource }) => {
      reviewed.push(subresource);
      throw new KubeletError('unavailable', 'ConnectionRefused', 'no answer');
    });
    expect(answer).toMatchObject({
      status: 500,
      body: 'Authorization error (user=system:anonymous, verb=get, resource=nodes, subresource=pods)',
    });
    expect(reviewed).toEqual(['pods']);
  });
});
