/** A vector of a row in Postgres' binary form: five numbers that describe the array, then the length of each number before it. */
const HEADER_BYTES = 20;
const NUMBER_BYTES = 8;

/** Embedding of a field of an item. */
export interface ItemVector {
  readonly itemId: string;
  /** The product with another vector of as many numbers. */
  product(other: Float32Array): number;
}

export interface ItemVectorRow {
  readonly item_id: string;
  /** Base64. */
  readonly sent: string;
}

/**
 * A vector `v.vector` as it is transferred: the driver makes text of every value, also of binary ones, and
 * reading numbers from the text of an array takes ten times as long.
 */
export const SENT_VECTOR = `encode(array_send(v.vector), 'base64') AS sent`;

export function itemVector({ item_id, sent }: ItemVectorRow): ItemVector {
  return {
    itemId: item_id,
    product(other) {
      const vector = Buffer.from(sent, 'base64');
      const view = new DataView(vector.buffer, vector.byteOffset, vector.byteLength);
      let sum = 0;
      let at = HEADER_BYTES + 4;
      for (const number of other) {
        sum += number * view.getFloat32(at);
        at += NUMBER_BYTES;
      }
      return sum;
    },
  };
}

/** Bytes of a vector as it is transferred. */
export function vectorBytes(dims: number): number {
  return HEADER_BYTES + dims * NUMBER_BYTES;
}
