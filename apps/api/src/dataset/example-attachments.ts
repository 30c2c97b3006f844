import { isJsonObject, parseShort } from '#lib/json';
import { PublicError } from '#lib/errors';
import { type AttachmentChange, type ExampleAttachment, MAX_EXAMPLE_ATTACHMENTS } from '#lib/trace-store';
import type { AttachmentKeeper } from '../attachment/attachment-keeper.js';
import { nameProblem, typeOf } from '../attachment/attachment-part.js';
import { NotKeptError } from '../attachment/not-kept-error.js';
import type { HeldBody } from '../trace/held-body.js';
import type { MultipartPart } from '../trace/multipart.js';

/** Maximum number of attachments per request: each costs statements and a request to the store. */
const MOST = 1_000;
const MAX_OPERATIONS_BYTES = 65_536;

/** The problem of a part, for people. */
export class WrongPartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'WrongPartError';
  }
}

/** Changes that parts of a request make to the attachments of one example. */
interface OpenChange {
  readonly added: Map<string, ExampleAttachment>;
  kept: AttachmentChange['kept'];
}

/** The attachments of the examples of one request: their bytes as they come, before the examples are stored. */
export class ExampleAttachmentIntake {
  readonly #changes = new Map<string, OpenChange>();
  #count = 0;

  constructor(
    private readonly keeper: Pick<AttachmentKeeper, 'keep'>,
    private readonly tenantId: string,
  ) {}

  /** @throws WrongPartError; PublicError unavailable when the bytes cannot be stored */
  async take(
    example: string,
    name: string,
    { contentType, pieces, length }: MultipartPart,
    room: Pick<HeldBody, 'hold' | 'keep'>,
  ): Promise<void> {
    const problem = nameProblem(name);
    if (problem !== undefined) throw new WrongPartError(problem);
    const { added } = this.#of(example);
    if (added.has(name)) throw new WrongPartError('the part came twice');
    if (++this.#count > MOST) throw new WrongPartError(`a request brings ${MOST} attachments at most`);
    try {
      const objectId = await this.keeper.keep(this.tenantId, {
        pieces: pieces ?? nothing(),
        length,
        hold: (bytes) => room.hold(bytes),
        keep: (bytes) => room.keep(bytes),
      });
      added.set(name, { name, contentType: typeOf(contentType), objectId });
    } catch (error) {
      if (!(error instanceof NotKeptError)) throw error;
      // an example without it would be another one: nothing of the request is stored
      const what = `Storing the attachment ${name} of the example ${example} failed: ${error.message}`;
      throw new PublicError('unavailable', what, [], { cause: error });
    }
  }

  /** Keeps the named attachments, under the names that are given. @throws WrongPartError */
  operate(example: string, json: Buffer): void {
    const open = this.#of(example);
    if (open.kept) throw new WrongPartError('the part came twice');
    if (json.length > MAX_OPERATIONS_BYTES)
      throw new WrongPartError(`the part is at most ${MAX_OPERATIONS_BYTES} bytes long`);
    open.kept = keptOf(parsed(json));
  }

  /** Change of an example's attachments; undefined when there is no change. */
  changeOf(example: string): AttachmentChange | undefined {
    const open = this.#changes.get(example);
    return open && { added: [...open.added.values()], kept: open.kept };
  }

  #of(example: string): OpenChange {
    const open = this.#changes.get(example) ?? { added: new Map(), kept: undefined };
    this.#changes.set(example, open);
    return open;
  }
}

/** @throws WrongPartError */
function parsed(json: Buffer): unknown {
  try {
    return parseShort(json.toString(), MAX_OPERATIONS_BYTES);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new WrongPartError(`the part is not JSON: ${error.message}`);
  }
}

async function* nothing(): AsyncGenerator<Buffer, void, void> {}

function keptOf(operations: unknown): NonNullable<AttachmentChange['kept']> {
  const isRight = isJsonObject(operations);
  const { rename = {}, retain = [] } = isRight ? operations : {};
  const names = Object.values(rename ?? {});
  if (
    !isRight ||
    !isJsonObject(rename ?? {}) ||
    !Array.isArray(retain ?? []) ||
    ![...names, ...((retain ?? []) as unknown[])].every(isName)
  )
    throw new WrongPartError(
      'attachments_operations should be {"rename": {"OLD": "NEW"}, "retain": ["NAME"]}, with names of 1 to 200 characters',
    );
  const renamed = Object.entries((rename ?? {}) as Readonly<Record<string, string>>);
  const retained = (retain ?? []) as readonly string[];
  const named = new Set([...retained, ...renamed.map(([name]) => name)]).size;
  // each becomes ten times as long as it was in the part
  if (named < retained.length + renamed.length)
    throw new WrongPartError(
      'attachments_operations should name each attachment once, in retain or in rename',
    );
  if (named > MAX_EXAMPLE_ATTACHMENTS)
    throw new WrongPartError(
      `attachments_operations names ${named} attachments, and an example has at most ${MAX_EXAMPLE_ATTACHMENTS}`,
    );
  return [...retained.map((name) => ({ name, as: name })), ...renamed.map(([name, as]) => ({ name, as }))];
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && nameProblem(value) === undefined;
}
