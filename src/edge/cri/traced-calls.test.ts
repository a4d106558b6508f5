// The client with a tracer against a CRI server in this process, on a real unix socket.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { failureOf } from '../../../test/fake-cri/failure-of.ts';
import type { ServedCall } from '../../../test/fake-cri/serve.ts';
import { hang, SocketRig } from '../../../test/fake-cri/socket-rig.ts';
import { RecordedSpans } from '../../../test/fakes/recorded-spans.ts';
import { ContainerEventResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import { Aborted, KubeletError } from '../../base/errors.ts';

const version = { version: '0.1.0', runtimeName: 'r', runtimeVersion: '1', runtimeApiVersion: 'v1' };
const scope = 'go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc';
const event = ContainerEventResponse.fromPartial({ containerId: 'c' });

let rig: SocketRig;
let spans: RecordedSpans;
/** The headers of the calls that the server has received. */
let received: (ServedCall['headers'] | undefined)[];

beforeEach(async () => {
  rig = await SocketRig.make();
  spans = new RecordedSpans();
  received = [];
  await rig.serve({
    version: async (_request, options) => {
      received.push((options as ServedCall).headers);
      return version;
    },
    imageStatus: () => Promise.reject(new KubeletError('not-found', 'NOT_FOUND', 'no such image')),
    status: hang,
    getContainerEvents: async function* (_request, options) {
      received.push((options as ServedCall).headers);
      yield event;
      yield event;
    },
  });
});

afterEach(() => rig.end());

describe('a call', () => {
  test('is a client span that the runtime can continue', async () => {
    await rig.connect({ tracer: spans.tracer }).version({});
    const name = 'runtime.v1.RuntimeService/Version';
    const span = spans.named(name);
    expect(span).toMatchObject({
      scope,
      parentId: undefined,
      error: undefined,
    });
    expect(span.attributes).toEqual({
      'rpc.system.name': 'grpc',
      'rpc.method': name,
      'rpc.response.status_code': 'OK',
      'server.address': rig.path,
    });
    expect(received[0]).toMatchObject({ traceparent: `00-${span.traceId}-${span.spanId}-01` });
  });

  test('is a child of the span that makes it', async () => {
    const client = rig.connect({ tracer: spans.tracer });
    const parent = spans.tracer.start({ scope, name: 'sync' });
    await parent.run(() => client.version({}));
    parent.end();
    expect(spans.named('runtime.v1.RuntimeService/Version').parentId).toBe(spans.named('sync').spanId);
  });

  test('passes tracestate and baggage of its trace on', async () => {
    const continues = {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'vendor=1',
      baggage: 'tenant=a',
    };
    const parent = spans.tracer.start({ scope, name: 'request', origin: { continues } });
    await parent.run(() => rig.connect({ tracer: spans.tracer }).version({}));
    parent.end();
    expect(received[0]).toMatchObject({ tracestate: 'vendor=1', baggage: 'tenant=a' });
  });

  test('has the code and the message of its error', async () => {
    await failureOf(rig.connect({ tracer: spans.tracer }).imageStatus({}));
    const span = spans.named('runtime.v1.ImageService/ImageStatus');
    expect(span.attributes['rpc.response.status_code']).toBe('NOT_FOUND');
    expect(span).toMatchObject({ error: expect.stringContaining('no such image'), events: [] });
  });

  test('has the code CANCELLED when its caller aborts', async () => {
    const abort = new AbortController();
    const call = rig.connect({ tracer: spans.tracer }).status({}, { signal: abort.signal });
    abort.abort(new Aborted('enough'));
    await expect(call).rejects.toThrow('enough');
    const span = spans.named('runtime.v1.RuntimeService/Status');
    expect(span.attributes['rpc.response.status_code']).toBe('CANCELLED');
  });

  test('has the code DEADLINE_EXCEEDED at its deadline', async () => {
    await failureOf(rig.connect({ tracer: spans.tracer }).status({}, { timeoutMs: 20 }));
    const span = spans.named('runtime.v1.RuntimeService/Status');
    expect(span.attributes['rpc.response.status_code']).toBe('DEADLINE_EXCEEDED');
  });

  test('sends no headers without a tracer', async () => {
    await rig.connect().version({});
    expect(Object.keys(received[0] ?? {})).not.toContain('traceparent');
  });
});

describe('a stream', () => {
  test('is one span that ends with it', async () => {
    let count = 0;
    for await (const _ of rig.connect({ tracer: spans.tracer }).getContainerEvents({}, {})) {
      expect(spans.names()).toEqual([]);
      count++;
    }
    const span = spans.named('runtime.v1.RuntimeService/GetContainerEvents');
    expect([count, span.attributes['rpc.response.status_code']]).toEqual([2, 'OK']);
    expect(received[0]).toMatchObject({ traceparent: `00-${span.traceId}-${span.spanId}-01` });
  });

  test('ends its span when the reader leaves', async () => {
    for await (const _ of rig.connect({ tracer: spans.tracer }).getContainerEvents({}, {})) break;
    expect(spans.names()).toEqual(['runtime.v1.RuntimeService/GetContainerEvents']);
  });
});
