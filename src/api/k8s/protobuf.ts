// Encodes API objects as protobuf, byte for byte as the Go library does: fields by number; a field that is no pointer in Go is
// written even if it has its zero value; map entries by sorted keys; repeated numbers not packed.
// Only what a pod contains has messages (`generated/pod-messages.ts`); they are read when first needed.
// Upstream: generated.pb.go in k8s.io/api; apimachinery/pkg/runtime/serializer/protobuf for the envelope.
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { isObject } from '../../base/guards.ts';
import { Quantity } from '../quantity/quantity.ts';
import { podMessages } from './generated/pod-messages.ts';

interface MessageField {
  readonly number: number;
  /** The name in JSON; undefined for a struct that Go embeds, whose fields belong to the same JSON object. */
  readonly name: string | undefined;
  readonly shape: 'single' | 'list' | 'map';
  /** Written even if absent. */
  readonly always: boolean;
  readonly write: WriteValue;
}

/** Writes the tag and the value. */
type WriteValue = (writer: BinaryWriter, number: number, value: unknown) => void;

type JsonObject = Readonly<Record<string, unknown>>;

export class KubernetesProtobuf {
  readonly #messages = new Map<string, readonly MessageField[]>();

  /** A message of the Go type, such as `Pod`. Throws a RangeError if there is no such message. */
  encode(type: string, object: object): Uint8Array<ArrayBuffer> {
    const writer = new BinaryWriter();
    this.#writeFields(writer, this.#messageOf(type), object as JsonObject);
    return writer.finish();
  }

  /** The form of files and HTTP bodies: a magic number, then the object with its apiVersion and kind. */
  encodeWithEnvelope(
    typeMeta: { readonly apiVersion: string; readonly kind: string },
    object: object,
  ): Uint8Array {
    const { apiVersion, kind } = typeMeta;
    const writer = new BinaryWriter().raw(magic);
    writer.tag(1, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(apiVersion);
    writer.tag(2, WireType.LengthDelimited).string(kind).join();
    writer.tag(2, WireType.LengthDelimited).bytes(this.encode(kind, object));
    // Neither a content encoding nor a content type.
    writer.tag(3, WireType.LengthDelimited).string('');
    return writer.tag(4, WireType.LengthDelimited).string('').finish();
  }

  #messageOf(type: string): readonly MessageField[] {
    const known = this.#messages.get(type);
    if (known !== undefined) return known;
    const text = Object.hasOwn(podMessages, type) ? podMessages[type] : undefined;
    if (text === undefined) throw new RangeError(`no protobuf message: ${type}`);
    const message = this.#readMessage(text.split(' '));
    this.#messages.set(type, message);
    return message;
  }

  /** `hostPath:HostPathVolumeSource@2.1*`; fields of an embedded struct have its number before theirs. */
  #readMessage(texts: readonly string[]): readonly MessageField[] {
    const fields = new Map<number, MessageField>();
    const embedded = new Map<number, string[]>();
    for (const text of texts) {
      const [, name = '', type = '', number = '', inner, pointer = ''] =
        /^(\w+):([^@]+)@(\d+)(?:\.([\d.]+))?(\*?)$/.exec(text) ?? [];
      const at = Number(number);
      if (inner === undefined) fields.set(at, this.#readField(name, type, at, pointer === ''));
      else embedded.set(at, [...(embedded.get(at) ?? []), `${name}:${type}@${inner}${pointer}`]);
    }
    for (const [number, inner] of embedded) {
      const message = this.#readMessage(inner);
      const write: WriteValue = (writer, at, value) =>
        this.#writeMessage(writer, at, message, value as JsonObject);
      fields.set(number, { number, name: undefined, shape: 'single', always: true, write });
    }
    return [...fields.values()].toSorted((a, b) => a.number - b.number);
  }

  #readField(name: string, type: string, number: number, always: boolean): MessageField {
    const shape = type.startsWith('[]') ? 'list' : type.startsWith('{}') ? 'map' : 'single';
    const element = shape === 'single' ? type : type.slice(2);
    const scalar = scalarWriters[element];
    const write: WriteValue =
      scalar ??
      ((writer, at, value) =>
        this.#writeMessage(writer, at, this.#messageOf(element), isObject(value) ? value : {}));
    return { number, name, shape, always, write };
  }

  #writeFields(writer: BinaryWriter, message: readonly MessageField[], object: JsonObject): void {
    for (const { number, name, shape, always, write } of message) {
      const value = name === undefined ? object : object[name];
      if (shape === 'list') {
        if (Array.isArray(value)) for (const item of value) write(writer, number, item);
      } else if (shape === 'map') {
        if (isObject(value)) writeMap(writer, number, value, write);
      } else if (always || (value !== undefined && value !== null)) write(writer, number, value);
    }
  }

  #writeMessage(
    writer: BinaryWriter,
    number: number,
    message: readonly MessageField[],
    object: JsonObject,
  ): void {
    writer.tag(number, WireType.LengthDelimited).fork();
    this.#writeFields(writer, message, object);
    writer.join();
  }
}

/** `k8s` and a zero byte. */
const magic = Uint8Array.from([0x6b, 0x38, 0x73, 0x00]);

/** Absent values are written as the zero value. */
const scalarWriters: Readonly<Record<string, WriteValue>> = {
  string: (writer, number, value) => writer.tag(number, WireType.LengthDelimited).string(textOf(value)),
  bool: (writer, number, value) => writer.tag(number, WireType.Varint).bool(value === true),
  int32: (writer, number, value) => writer.tag(number, WireType.Varint).int32(numberOf(value)),
  int64: (writer, number, value) => writer.tag(number, WireType.Varint).int64(numberOf(value)),
  quantity: writeQuantity,
  intOrString: writeIntOrString,
  time: writeTime,
  any: writeRawJson,
};

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function writeMap(writer: BinaryWriter, number: number, map: JsonObject, write: WriteValue): void {
  // Go sorts by bytes, which differs from UTF-16 only above the surrogates: keys of these maps are ASCII.
  for (const key of Object.keys(map).toSorted()) {
    writer.tag(number, WireType.LengthDelimited).fork();
    writer.tag(1, WireType.LengthDelimited).string(key);
    write(writer, 2, map[key]);
    writer.join();
  }
}

function writeQuantity(writer: BinaryWriter, number: number, value: unknown): void {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '0';
  writer.tag(number, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(Quantity.parse(text).toString()).join();
}

function writeIntOrString(writer: BinaryWriter, number: number, value: unknown): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int64(typeof value === 'string' ? 1 : 0);
  writer.tag(2, WireType.Varint).int32(numberOf(value));
  writer.tag(3, WireType.LengthDelimited).string(textOf(value)).join();
}

/** Whole seconds, as in JSON; an absent time is an empty message. */
function writeTime(writer: BinaryWriter, number: number, value: unknown): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  const ms = Date.parse(textOf(value));
  if (!Number.isNaN(ms)) {
    writer.tag(1, WireType.Varint).int64(Math.floor(ms / 1000));
    writer.tag(2, WireType.Varint).int32(0);
  }
  writer.join();
}

function writeRawJson(writer: BinaryWriter, number: number, value: unknown): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(JSON.stringify(value)).join();
}
