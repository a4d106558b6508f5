// The generated services in the form of grpc-js, and unary calls on Unix sockets.
import { Client, credentials, Metadata, type ServiceDefinition, type ServiceError } from '@grpc/grpc-js';

interface Codec {
  encode(message: never): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
}

interface GeneratedMethod {
  readonly name: string;
  readonly requestType: Codec;
  readonly responseType: Codec;
  readonly responseStream: boolean;
}

interface GeneratedService {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, GeneratedMethod>>;
}

const serializeWith =
  (codec: Codec) =>
  (message: unknown): Buffer =>
    Buffer.from(codec.encode(message as never).finish());

const deserializeWith =
  (codec: Codec) =>
  (bytes: Buffer): unknown =>
    codec.decode(bytes);

/** The keys of an implementation are those of `methods`. */
export function serviceDefinition({ fullName, methods }: GeneratedService): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(methods).map(([key, { name, requestType, responseType, responseStream }]) => [
      key,
      {
        path: `/${fullName}/${name}`,
        requestStream: false,
        responseStream,
        requestSerialize: serializeWith(requestType),
        requestDeserialize: deserializeWith(requestType),
        responseSerialize: serializeWith(responseType),
        responseDeserialize: deserializeWith(responseType),
      },
    ]),
  );
}

/** One unary call on a connection of its own. Rejects with the status of the server. */
export function callOnce<Response>(
  socket: string,
  service: GeneratedService,
  method: string,
  request: unknown,
  timeoutMs = 10_000,
): Promise<Response> {
  const definition = serviceDefinition(service)[method];
  if (definition === undefined) throw new Error(`${service.fullName} has no method ${method}`);
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_channelz': 0,
  });
  return new Promise<Response>((resolve, reject) => {
    const onEnd = (err: ServiceError | null, response?: unknown): void =>
      err === null ? resolve(response as Response) : reject(err);
    client.makeUnaryRequest(
      definition.path,
      definition.requestSerialize,
      definition.responseDeserialize,
      request,
      new Metadata(),
      { deadline: Date.now() + timeoutMs },
      onEnd,
    );
  }).finally(() => client.close());
}
