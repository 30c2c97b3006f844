import type { JsonObject } from '#lib/json';
import { decodeMessage } from './decode-message.js';
import { roots } from './generated/messages.js';
import { FieldReader, TooManyFieldsError, type WireField } from './wire-reader.js';

/** The body is not Kubernetes protobuf, of a type that is not served, or has too many fields: `status` is the answer's. */
export class ProtobufError extends Error {
  constructor(
    readonly status: 400 | 413 | 415,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'ProtobufError';
  }
}

const MAGIC = [0x6b, 0x38, 0x73, 0x00];
const text = new TextDecoder();

/** Decodes a body of `application/vnd.kubernetes.protobuf` (magic `k8s\0`, Unknown envelope) into the object's JSON. */
export function decodeProtobuf(bytes: Uint8Array): JsonObject {
  if (!MAGIC.every((byte, index) => bytes[index] === byte)) {
    throw new ProtobufError(
      400,
      'provided data does not appear to be a protobuf message, expected prefix "k8s\\x00"',
    );
  }
  try {
    return decodeEnvelope(bytes.subarray(MAGIC.length), new FieldReader());
  } catch (thrown) {
    if (thrown instanceof TooManyFieldsError) throw new ProtobufError(413, 'it has too many fields');
    if (!(thrown instanceof RangeError) && !(thrown instanceof SyntaxError)) throw thrown;
    throw new ProtobufError(400, `unable to decode the protobuf body: ${thrown.message}`, { cause: thrown });
  }
}

function decodeEnvelope(body: Uint8Array, reader: FieldReader): JsonObject {
  const envelope = reader.fields(body);
  const type = reader.fields(bytesOf(envelope, 1));
  const apiVersion = text.decode(bytesOf(type, 1));
  const kind = text.decode(bytesOf(type, 2));
  const message =
    roots[`${apiVersion} ${kind}`] ?? (kind === 'DeleteOptions' ? roots['v1 DeleteOptions'] : undefined);
  if (message === undefined) {
    throw new ProtobufError(
      415,
      `no kind "${kind}" of "${apiVersion}" can be decoded from protobuf; send JSON`,
    );
  }
  return { apiVersion, kind, ...decodeMessage(bytesOf(envelope, 2), message, reader) };
}

function bytesOf(fields: readonly WireField[], number: number): Uint8Array {
  const found = fields.find((field) => field.number === number);
  return found?.kind === 'bytes' ? found.value : new Uint8Array();
}
