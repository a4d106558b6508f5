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
  if (found === undefined) throw new Error(`there is no route ${name}`);
  return found;
};

describe('nodeAttributes', () => {
  const cases: readonly (readonly [RouteName, string, string, readonly string[]])[] = [
    ['health', 'GET', 'get', ['healthz', 'proxy']],
    ['healthCheck', 'GET', 'get', ['healthz', 'proxy']],
    ['pods', 'GET', 'get', ['pods', 'proxy']],
    ['runningPods', 'GET', 'get', ['pods', 'proxy']],
    ['explain', 'GET', 'get', ['pods', 'proxy']],
    ['configz', 'GET', 'get', ['configz', 'proxy']],
    ['flagz', 'GET', 'get', ['configz']],
    ['statusz', 'GET', 'get', ['statusz']],
    ['summary', 'POST', 'create', ['stats']],
    ['metrics', 'GET', 'get', ['metrics']],
    ['cadvisorMetrics', 'GET', 'get', ['metrics']],
    ['sliMetrics', 'DELETE', 'delete', ['metrics']],
    ['systemLogs', 'GET', 'get', ['log']],
    ['checkpoint', 'POST', 'create', ['checkpoint']],
    ['containerLogs', 'GET', 'get', ['proxy']],
    ['profiles', 'GET', 'get', ['proxy']],
    ['heapSnapshot', 'GET', 'create', ['proxy']],
    ['logVerbosity', 'PUT', 'update', ['proxy']],
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

  test('every route has a case', () => {
    expect(new Set(cases.map(([name]) => name))).toEqual(
      new Set(routeTable.map(({ name }) => name).filter((name) => !/^(resource|probe)Metrics$/.test(name))),
    );
  });

  test('without the gate only the subresources of old', () => {
    const coarse = { ...fine, fineGrained: false };
    expect(nodeAttributes(coarse, row('pods'), 'GET').subresources).toEqual(['proxy']);
    expect(nodeAttributes(coarse, row('summary'), 'GET').subresources).toEqual(['stats']);
  });

  test('the way back to upstream', () => {
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

  test('who cannot be told from others: 401, whatever it may', async () => {
    expect(await ask(async () => true, false)).toMatchObject({ status: 401, body: 'Unauthorized' });
  });

  test('what strangers ask for is told in one line, without what a terminal would obey', async () => {
    const told: unknown[] = [];
    const info = (_: string, fields?: object): void => void told.push(fields);
    const log: Logger = { ...silentLogger, v: () => ({ ...silentLogger.v(0), info }) };
    await ask(undefined, false, { log, target: '/logs/a\nE1117 fake\u001b[31m' });
    expect(told).toEqual([{ path: '/logs/a%0AE1117%20fake%1B%5B31m', problem: 'no credentials' }]);
  });

  test('where everything is allowed nobody is asked', async () => {
    expect(await ask(undefined)).toBeUndefined();
  });

  test('one attribute that is allowed is enough, and the rest is not asked about', async () => {
    const asked: string[] = [];
    const allow = (what: string) => async (access: Access) => {
      asked.push(access.subresource);
      return access.subresource === what;
    };
    expect(await ask(allow('pods'))).toBeUndefined();
    expect(await ask(allow('proxy'))).toBeUndefined();
    expect(asked).toEqual(['pods', 'pods', 'proxy']);
  });

  test('none is allowed: 403 that says what was asked for', async () => {
    expect(await ask(async () => false)).toMatchObject({
      status: 403,
      body: 'Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    });
  });

  test('nobody knows: 500, and the next attribute is not tried', async () => {
    const asked: string[] = [];
    const answer = await ask(async ({ subresource }) => {
      asked.push(subresource);
      throw new KubeletError('unavailable', 'ConnectionRefused', 'no answer');
    });
    expect(answer).toMatchObject({
      status: 500,
      body: 'Authorization error (user=system:anonymous, verb=get, resource=nodes, subresource=pods)',
    });
    expect(asked).toEqual(['pods']);
  });
});
