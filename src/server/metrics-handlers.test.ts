import { describe, expect, test } from 'vitest';
import { asResponse, bodyText, httpRequest } from './fixtures/requests.ts';
import { statsHandlers } from './metrics-handlers.ts';
import type { RouteName } from './route-table.ts';

function build(summary: (onlyCpuAndMemory: boolean) => Promise<unknown> = async (only) => ({ only })) {
  const calls: string[] = [];
  const handlers = statsHandlers({
    stats: {
      summary,
      resourceMetrics: async () => 'resource 1\n',
      cadvisorMetrics: async () => 'cadvisor 1\n',
      disk: async () => 'disk',
    },
    diskMetrics: { show: (disk) => void calls.push(`show ${disk}`) },
    metrics: {
      render: () => {
        calls.push('render');
        return 'kubelet 1\n';
      },
    },
  });
  const get = async (name: RouteName, path: string) => {
    const handle = handlers[name];
    if (handle === undefined) throw new Error(`no handler for ${name}`);
    const answer = asResponse(await handle({ ...httpRequest(`GET ${path}`), params: {} }));
    return { status: answer.status, type: answer.headers['content-type'], text: await bodyText(answer) };
  };
  return { calls, get };
}

describe('summary', () => {
  test.each([
    ['', false],
    ['?only_cpu_and_memory=true', true],
    ['?only_cpu_and_memory=1', false],
    ['?only_cpu_and_memory=true&only_cpu_and_memory=true', false],
  ])('%s limits it to CPU and memory: %s', async (query, only) => {
    expect(await build().get('summary', `/stats/summary${query}`)).toEqual({
      status: 200,
      type: 'application/json',
      text: `{\n "only": ${only}\n}`,
    });
  });

  test('answers 500 with the error if the stats cannot be read', async () => {
    const { get } = build(() => Promise.reject(new Error('no cgroups')));
    expect(await get('summary', '/stats/summary')).toMatchObject({
      status: 500,
      text: 'Internal Error: no cgroups',
    });
  });
});

test('measures the disks before it renders /metrics', async () => {
  const { calls, get } = build();
  const type = 'text/plain; version=0.0.4; charset=utf-8';
  expect(await get('metrics', '/metrics')).toEqual({ status: 200, type, text: 'kubelet 1\n' });
  expect(calls).toEqual(['show disk', 'render']);
  expect(await get('resourceMetrics', '/metrics/resource')).toMatchObject({ text: 'resource 1\n' });
  expect(await get('cadvisorMetrics', '/metrics/cadvisor')).toMatchObject({ text: 'cadvisor 1\n' });
});
