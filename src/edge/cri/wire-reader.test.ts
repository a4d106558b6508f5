import { Server, ServerCredentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { failureOf } from '../../../test/fake-cri/failure-of.ts';
import { SocketRig } from '../../../test/fake-cri/socket-rig.ts';
import { Container, ListContainersResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import { WireReader } from './wire-reader.ts';

const encode = (id: string): Buffer => Buffer.from(Container.encode(Container.fromPartial({ id })).finish());

describe('WireReader', () => {
  for (const id of ['', 'plain', 'ümläut → 漢字 🙂', 'x'.repeat(100_000)]) {
    test(`reads ${JSON.stringify(id.slice(0, 20))}`, () => {
      expect(Container.decode(new WireReader(encode(id))).id).toBe(id);
    });
  }

  test('reads what the stock reader reads', () => {
    const message = ListContainersResponse.fromPartial({
      containers: [
        { id: 'a', createdAt: -1n, labels: { k: 'v', ü: '' }, metadata: { name: 'n', attempt: 2 ** 32 - 1 } },
        { id: 'b', state: 2, annotations: { a: 'b' }, image: { image: 'i' } },
      ],
    });
    const bytes = Buffer.from(ListContainersResponse.encode(message).finish());
    expect(ListContainersResponse.decode(new WireReader(bytes))).toEqual(message);
    // Messages come as slices of what the network gave.
    const slice = Buffer.concat([Buffer.from('before'), bytes, Buffer.from('after')]).subarray(
      6,
      6 + bytes.length,
    );
    expect(ListContainersResponse.decode(new WireReader(slice))).toEqual(message);
  });

  test('what is not UTF-8 is replaced, not refused', () => {
    const bytes = encode('ab');
    bytes[bytes.length - 1] = 0xff;
    expect(Container.decode(new WireReader(bytes)).id).toBe('a\ufffd');
  });

  test('a message that ends too early is refused', () => {
    const bytes = encode('abcdef');
    expect(() => Container.decode(new WireReader(bytes.subarray(0, 4)))).toThrow('premature end');
  });
});

describe('an answer that is no message', () => {
  let rig: SocketRig;

  beforeEach(async () => {
    rig = await SocketRig.make();
  });

  afterEach(() => rig.end());

  test('fails the call and nothing else', async () => {
    const server = new Server();
    const answers = [Buffer.from([0x0a, 0x7f, 0x41]), Buffer.alloc(0)];
    server.register(
      '/runtime.v1.RuntimeService/ListContainers',
      (_call: unknown, answer: (err: null, value: unknown) => void) => answer(null, answers.shift()),
      (value: unknown) => value as Buffer,
      (bytes) => bytes,
      'unary',
    );
    await new Promise((resolve) => {
      server.bindAsync(`unix:${rig.path}`, ServerCredentials.createInsecure(), resolve);
    });
    rig.atEnd(() => server.forceShutdown());
    const client = rig.connect();
    expect(await failureOf(client.listContainers({}))).toMatchObject({
      kind: 'internal',
      reason: 'INTERNAL',
    });
    expect(await client.listContainers({})).toEqual({ containers: [] });
  });
});
