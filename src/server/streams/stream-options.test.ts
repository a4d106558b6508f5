import { expect, test } from 'vitest';
import { httpRequest } from '../fixtures/requests.ts';
import { offersChannels, offersTunnel, parseExecStreams, parsePorts } from './stream-options.ts';

const noStream = { error: 'you must specify at least 1 of stdin, stdout, stderr' };
const none = { stdin: false, stdout: false, stderr: false, tty: false };

test.each([
  ['output=1', { value: { ...none, stdout: true } }],
  ['input=1&output=1&error=1', { value: { ...none, stdin: true, stdout: true, stderr: true } }],
  ['output=1&error=1&tty=1', { value: { ...none, stdout: true, tty: true } }],
  ['error=1&tty=1', noStream],
  ['output=true', noStream],
  ['stdout=1&stdin=1', noStream],
  ['output=0&output=1', noStream],
  ['', noStream],
])('parseExecStreams: %s', (query, want) => {
  expect(parseExecStreams(new URLSearchParams(query))).toEqual(want);
});

const number = (text: string, part: string, why: string): object => ({
  error: `unable to parse "${text}" as a port: strconv.ParseUint: parsing "${part}": ${why}`,
});

test.each([
  ['port=80', { value: [80] }],
  ['port=80&port=443,8080', { value: [80, 443, 8080] }],
  ['', { error: 'query parameter "port" is required' }],
  ['port=', { error: 'query parameter "port" cannot be empty' }],
  ['port=0', { error: 'port "0" must be > 0' }],
  ['port=80,0', { error: 'port "80,0" must be > 0' }],
  ['port=http', number('http', 'http', 'invalid syntax')],
  ['port=80,', number('80,', '', 'invalid syntax')],
  ['port=-1', number('-1', '-1', 'invalid syntax')],
  ['port=65536', number('65536', '65536', 'value out of range')],
])('parsePorts of a WebSocket: %s', (query, want) => {
  const request = httpRequest(`GET /portForward/ns/p?${query}`, {
    upgrade: true,
    headers: { upgrade: 'WebSocket' },
  });
  expect(parsePorts(request)).toEqual(want);
});

test('parsePorts: SPDY and plain requests have none', () => {
  const spdy = httpRequest('POST /portForward/ns/p', { upgrade: true, headers: { upgrade: 'SPDY/3.1' } });
  expect(parsePorts(spdy)).toEqual({ value: [] });
  expect(parsePorts(httpRequest('GET /', { headers: { upgrade: 'websocket' } }))).toEqual({ value: [] });
});

test.each([
  ['v5.channel.k8s.io', 'channels'],
  ['v4.channel.k8s.io, v5.channel.k8s.io', 'channels'],
  ['v4.channel.k8s.io', ''],
  ['v5.base64.channel.k8s.io', ''],
  ['SPDY/3.1+portforward.k8s.io', 'tunnel'],
  ['v4.channel.k8s.io,SPDY/3.1+future.k8s.io', 'tunnel'],
  ['SPDY/3.1+portforward.example.com', ''],
  ['SPDY/3.1', ''],
])('WebSocket protocol %s is: %s', (protocols, want) => {
  const headers = { upgrade: 'WebSocket', 'sec-websocket-protocol': protocols };
  const request = { upgrade: true, headers };
  const seen = [offersChannels(request) && 'channels', offersTunnel(request) && 'tunnel'];
  expect(seen.filter((each) => each !== false).join()).toBe(want);
  const spdy = { upgrade: true, headers: { ...headers, upgrade: 'SPDY/3.1' } };
  expect([offersChannels(spdy), offersTunnel(spdy), offersChannels({ ...request, upgrade: false })]).toEqual([
    false,
    false,
    false,
  ]);
});
