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

  test('reads the same as the library’s reader', () => {
    const message = ListContainersResponse.fromPartial({
      containers: [
        { id: 'a', createdAt: -1n, labels: { k: 'v', ü: '' }, metadata: { name: 'n', attempt: 2 ** 32 - 1 } },
        { id: 'b', state: 2, annotations: { a: 'b' }, image: { image: 'i' } },
      ],
    });
    const bytes = Buffer.from(ListContainersResponse.encode(message).finish());
    expect(ListContainersResponse.decode(new WireReader(bytes))).toEqual(message);
    // Messages arrive as slices of the network buffer.
    const slice = Buffer.concat([Buffer.from('before'), bytes, Buffer.from('after')]).subarray(
      6,
      6 + bytes.length,
    );
    expect(ListContainersResponse.decode(new WireReader(slice))).toEqual(message);
  });

  test('replaces invalid UTF-8 instead of failing', () => {
    const bytes = encode('ab');
    bytes[bytes.length - 1] = 0xff;
    expect(Container.decode(new WireReader(bytes)).id).toBe('a\ufffd');
  });

  test('rejects a message that ends too early', () => {
    const bytes = encode('abcdef');
    expect(() => Container.decode(new WireReader(bytes.subarray(0, 4)))).toThrow('premature end');
  });
});

describe('a response that is not protobuf', () => {
  let rig: SocketRig;

  beforeEach(async () => {
    rig = await SocketRig.make();
  });

  afterEach(() => rig.end());

  test('fails its call only', async () => {
    const server = new Server();
    const responses = [Buffer.from([0x0a, 0x7f, 0x41]), Buffer.alloc(0)];
    server.register(
      '/runtime.v1.RuntimeService/ListContainers',
      (_call: unknown, respond: (err: null, value: unknown) => void) => respond(null, responses.shift()),
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
