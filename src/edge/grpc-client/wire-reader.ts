// A faster protobuf reader than the library's: Buffer decodes strings straight from the network buffer, which saves a fifth
// of the time for a list of 110 containers compared with TextDecoder.
// Invariant: nothing decoded refers to the buffer afterwards; strings are copies, and the generated code copies byte fields.
// A string that is not UTF-8 gets replacement characters instead of failing the list.
import { BinaryReader } from '@bufbuild/protobuf/wire';

export class WireReader extends BinaryReader {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    super(bytes);
    this.#bytes = bytes;
  }

  override string(): string {
    const length = this.uint32();
    const start = this.pos;
    const end = start + length;
    if (end > this.len) throw new RangeError('premature end of message');
    this.pos = end;
    return this.#bytes.toString('utf8', start, end);
  }
}
