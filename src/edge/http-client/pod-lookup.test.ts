// Against DNS servers on loopback: one that answers, one that does not, one that sends garbage.
import { createHook } from 'node:async_hooks';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeServers, listen } from '../probe/fixtures/servers.ts';
import { httpProbe } from '../probe/http-probe.ts';
import { tcpProbe } from '../probe/tcp-probe.ts';
import { hookHttp } from './hook-http.ts';
import { type Lookup, makePodLookup } from './pod-lookup.ts';

let directory = '';
let servers: Socket[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'pod-lookup-'));
});
afterEach(async () => {
  for (const server of servers) server.close();
  servers = [];
  await closeServers();
  await rm(directory, { recursive: true });
});

type Answer = (query: Buffer, from: RemoteInfo, server: Socket) => void;

async function dnsServer(answer: Answer): Promise<{ readonly address: string; readonly queries: string[] }> {
  const server = createSocket('udp4');
  servers.push(server);
  const queries: string[] = [];
  server.on('message', (query, from) => {
    queries.push(`${questionName(query)} ${query[query.indexOf(0, 12) + 2] === 1 ? 'A' : 'AAAA'}`);
    answer(query, from, server);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  return { address: `127.0.0.1:${server.address().port}`, queries };
}

function questionName(query: Buffer): string {
  const labels: string[] = [];
  for (let at = 12; query[at] !== 0 && at < query.length; at += (query[at] ?? 0) + 1)
    labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] ?? 0)));
  return labels.join('.');
}

/** Answers queries for A records of the name; other names do not exist. */
const knowing =
  (name: string, count = 1): Answer =>
  (query, from, server) => {
    const end = query.indexOf(0, 12) + 5;
    const isA = query[end - 3] === 1;
    const found = questionName(query) === name && isA ? count : 0;
    const head = Buffer.from(query.subarray(0, end));
    head.writeUInt16BE(questionName(query) === name ? 0x8180 : 0x8183, 2);
    head.writeUInt16BE(found, 6);
    head.writeUInt32BE(0, 8);
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
    server.send(
      Buffer.concat([head, ...Array.from({ length: found }, () => record)]),
      from.port,
      from.address,
    );
  };

async function lookupWith(over: { servers: string[]; deadlineMs?: number; hosts?: string }): Promise<Lookup> {
  const [hostsFile, resolvConfFile] = [join(directory, 'hosts'), join(directory, 'resolv.conf')];
  await writeFile(hostsFile, over.hosts ?? '');
  await writeFile(resolvConfFile, 'search pods.test\noptions ndots:1');
  return makePodLookup({ ...over, hostsFile, resolvConfFile });
}

const look = (lookup: Lookup, name: string): Promise<string | LookupAddress[]> =>
  new Promise((resolve, reject) =>
    lookup(name, { all: true }, (err, addresses) => (err === null ? resolve(addresses) : reject(err))),
  );
const local = { address: '127.0.0.1', family: 4 };

test('searches the hosts file first, then queries with the search list', async () => {
  const { address, queries } = await dnsServer(knowing('web.pods.test'));
  const lookup = await lookupWith({ servers: [address], hosts: '::1 six\n' });
  expect(await look(lookup, 'six')).toEqual([{ address: '::1', family: 6 }]);
  expect(queries).toEqual([]);
  expect(await look(lookup, 'web')).toEqual([local]);
  expect([...new Set(queries)].sort()).toEqual(['web.pods.test A', 'web.pods.test AAAA']);
  await expect(look(lookup, 'nowhere')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('returns the first addresses of a name with many', async () => {
  const { address } = await dnsServer(knowing('web.pods.test', 30));
  expect(await look(await lookupWith({ servers: [address] }), 'web')).toHaveLength(16);
});

test('unresponsive and broken servers delay no file operation, and lookups end by the deadline', async () => {
  const silent = await dnsServer(() => undefined);
  const garbage = await dnsServer((_query, from, server) => {
    for (let i = 0; i < 20; i++) server.send(Buffer.alloc(500, i), from.port, from.address);
  });
  for (const { address, queries } of [silent, garbage]) {
    const lookup = await lookupWith({ servers: [address], deadlineMs: 1_500 });
    const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
    let open = 40;
    const ended = [...names, ...names].map((name) =>
      look(lookup, name).then(
        () => undefined,
        (err: NodeJS.ErrnoException) => {
          open -= 1;
          return err.code;
        },
      ),
    );
    await expect.poll(() => queries.length).toBeGreaterThanOrEqual(20);
    await readFile(join(directory, 'hosts'));
    // Garbage may count as a refusal; silence lasts until the timeout.
    if (address === silent.address) expect(open).toBe(40);
    expect(await Promise.all(ended)).toEqual(ended.map(() => 'EAI_AGAIN'));
  }
}, 30_000);

test('shares concurrent lookups of a name, and rejects names above the limit', async () => {
  const good = await dnsServer(knowing('web.pods.test'));
  const sharing = await lookupWith({ servers: [good.address] });
  const same = await Promise.all(Array.from({ length: 300 }, () => look(sharing, 'web')));
  expect(same).toEqual(same.map(() => [local]));
  const { address } = await dnsServer(() => undefined);
  const lookup = await lookupWith({ servers: [address], deadlineMs: 500 });
  const all = await Promise.allSettled(Array.from({ length: 300 }, (_, i) => look(lookup, `n${i}`)));
  expect(all.every((each) => each.status === 'rejected')).toBe(true);
});

test('probes and hooks never use getaddrinfo', async () => {
  const port = await listen(createServer((_request, response) => response.end()));
  let used = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'GETADDRINFOREQWRAP') used += 1;
    },
  }).enable();
  const { signal } = new AbortController();
  const at = { host: 'localhost', port, timeoutMs: 5_000 };
  try {
    expect((await tcpProbe(at, signal)).result).toBe('success');
    const get = { ...at, scheme: 'http', path: '/', headers: [] } as const;
    expect((await httpProbe(get, signal)).result).toBe('success');
    await hookHttp(get, signal);
  } finally {
    hook.disable();
  }
  expect(used).toBe(0);
});
