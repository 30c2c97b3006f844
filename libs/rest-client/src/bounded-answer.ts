/** Maximum size of one answer, or of one line of an answer in lines. */
const MAX_BYTES = 67_108_864;

/** A message. @param asked `GET /runs at http://…` */
export function tooLong(asked: string): string {
  return `the answer to ${asked} is longer than ${MAX_BYTES} bytes`;
}

/** An answer's text; undefined when it is longer than 64 MiB. @throws the error of a broken connection */
export async function textOf(response: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return undefined;
  }
  return Buffer.concat(chunks).toString();
}

/** The pieces of a line whose end has not come; joined once, since each piece would copy all before it. */
export class UnfinishedLine {
  readonly #pieces: string[] = [];
  #length = 0;

  /** @returns false when the line is longer than 64 MiB */
  add(piece: string): boolean {
    this.#pieces.push(piece);
    this.#length += piece.length;
    return this.#length <= MAX_BYTES;
  }

  get text(): string {
    return this.#pieces.join('');
  }
}
