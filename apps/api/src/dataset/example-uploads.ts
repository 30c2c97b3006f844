import type { Admission } from '#lib/admission';
import type { Caller } from '#lib/auth';
import { type FieldProblem, PublicError } from '#lib/errors';
import { inTurns, isJsonObject, type JsonWalk, parseShort } from '#lib/json';
import { isUuid } from '#lib/resources';
import {
  type AttachmentChange,
  type ExampleAttachment,
  type ExampleWrite,
  MAX_EXAMPLE_ATTACHMENTS,
  parseExample,
  type SentExample,
  type TraceStore,
} from '#lib/trace-store';
import { nameProblem, typeOf } from '../attachment/attachment-intake.js';
import { type AttachmentKeeper, NotKeptError } from '../attachment/attachment-keeper.js';
import { UnreadableError } from '../trace/byte-reader.js';
import { HeldBody, type SentBody } from '../trace/held-body.js';
import { boundaryOf, type MultipartPart, multipartParts } from '../trace/multipart.js';
import { MAX_PROBLEMS } from '../wire/excess.js';
import { invalid } from '../wire/request-pipe.js';

/** Maximum number of attachments per request: each costs statements and a request to the store. */
const MOST = 1_000;
const MAX_OPERATIONS_BYTES = 65_536;

/** The problem of a part, for people. */
class WrongPartError extends Error {
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
class ExampleAttachmentIntake {
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

/** Maximum number of examples per request, which is one version of the dataset and one transaction. */
const MAX_EXAMPLES = 10_000;
/** Maximum size of inputs and outputs of an example together, and so of each. */
const MAX_PART_BYTES = 16_777_216 + 65_536;
/** Maximum size of one attachment; the same as for those of runs. */
const MAX_ATTACHMENT_BYTES = 67_108_864;
const MAX_NAME = 200;
/** Short examples that are parsed between two pauses. */
const PARSED_AT_ONCE = 10;

const NAME = /^([0-9a-fA-F-]{36})(?:\.(inputs|outputs|attachments_operations|attachment\.(.{0,1000})))?$/s;

type OpenExample = { -readonly [K in keyof SentExample]: SentExample[K] };

/** Result of an upload. */
export interface UploadedExamples {
  readonly ids: readonly string[];
  readonly asOf: bigint;
  readonly mended: readonly FieldProblem[];
}

/** Examples that come as multipart bodies: all of a body are stored as one version, or none. */
export class ExampleUploads {
  constructor(
    private readonly store: Pick<TraceStore, 'examples'>,
    private readonly budget: Admission,
    private readonly maxBodyBytes: number,
    private readonly keeper: Pick<AttachmentKeeper, 'keep'>,
  ) {}

  /** @throws PublicError */
  async upload(
    { tenantId }: Caller,
    { datasetId, contentType, kind }: { datasetId: string; contentType: string; kind: 'add' | 'change' },
    body: SentBody,
  ): Promise<UploadedExamples> {
    const boundary = boundaryOf(contentType);
    if (boundary === undefined) throw new PublicError('bad_request', 'The content type names no boundary');
    const held = new HeldBody(body, this.budget.open(tenantId), this.maxBodyBytes);
    try {
      const intake = new ExampleAttachmentIntake(this.keeper, tenantId);
      const { examples: parsed, mended } = await inTurns(parseAll(await this.#read(held, boundary, intake)));
      const examples = parsed.map((one) => ({ ...one, attachments: intake.changeOf(one.id) }));
      if (examples.length === 0) throw new PublicError('bad_request', 'The body has no examples');
      const { ids, asOf } = await this.store.examples[kind](tenantId, datasetId, examples);
      return { ids, asOf, mended };
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      const { isTooLarge, message, type } = error;
      throw isTooLarge
        ? new PublicError('too_large', `The request is too large: ${message}`)
        : invalid([{ loc: ['body'], msg: message, type }]);
    } finally {
      held.release();
    }
  }

  async #read(
    held: HeldBody,
    boundary: string,
    intake: ExampleAttachmentIntake,
  ): Promise<readonly SentExample[]> {
    const examples = new Map<string, OpenExample>();
    const limits = {
      maxBytes: this.maxBodyBytes,
      maxPartBytes: Math.min(MAX_PART_BYTES, this.maxBodyBytes),
      maxStreamedBytes: Math.min(MAX_ATTACHMENT_BYTES, this.maxBodyBytes),
      isStreamed,
    };
    let bytes = 0;
    const room = {
      hold: (more: number) => held.hold(more),
      keep: (of: number) => held.keep(bytes + of),
    };
    for await (const part of multipartParts(held.pieces(), boundary, limits)) {
      bytes += part.body.length;
      const { id, field, attachment } = placeOf(part.name);
      const open = openExample(examples, id, part.name);
      try {
        if (attachment !== undefined) await intake.take(id, attachment, part, room);
        else if (field === 'attachments_operations') intake.operate(id, part.body);
        else if (open[field] === undefined) open[field] = part.body;
        else throw new WrongPartError('the part came twice');
      } catch (error) {
        if (!(error instanceof WrongPartError)) throw error;
        throw refused(part.name, error.message, 'value_error');
      }
    }
    return [...examples.values()];
  }
}

function isStreamed(partName: string): boolean {
  return NAME.exec(partName)?.[3] !== undefined;
}

interface PartPlace {
  readonly id: string;
  readonly field: 'body' | 'inputs' | 'outputs' | 'attachments_operations';
  /** Name of an attachment. */
  readonly attachment: string | undefined;
}

/** Place of a part. @throws PublicError invalid */
function placeOf(name: string): PartPlace {
  const [, id, field = 'body', attachment] = NAME.exec(name) ?? [];
  if (id === undefined || !isUuid(id))
    throw refused(
      name,
      'the name of a part should be ID, ID.inputs, ID.outputs, ID.attachment.NAME or ID.attachments_operations',
      'value_error',
    );
  return { id: id.toLowerCase(), field: field as PartPlace['field'], attachment };
}

/** @throws PublicError invalid */
function openExample(examples: Map<string, OpenExample>, id: string, partName: string): OpenExample {
  const open = examples.get(id) ?? { id, place: ['body', id] };
  if (!examples.has(id) && examples.size === MAX_EXAMPLES)
    throw refused(
      partName,
      `a request has at most ${MAX_EXAMPLES} examples; send them in several`,
      'too_long',
    );
  examples.set(id, open);
  return open;
}

function refused(name: string, msg: string, type: string): PublicError {
  return invalid([{ loc: ['body', name.slice(0, MAX_NAME)], msg, type }]);
}

/** @throws PublicError invalid with the first hundred problems */
function* parseAll(sent: readonly SentExample[]): JsonWalk<{
  readonly examples: readonly ExampleWrite[];
  readonly mended: readonly FieldProblem[];
}> {
  const [problems, mended]: [FieldProblem[], FieldProblem[]] = [[], []];
  const examples: ExampleWrite[] = [];
  for (const [at, one] of sent.entries()) {
    if (at % PARSED_AT_ONCE === PARSED_AT_ONCE - 1) yield undefined;
    const parsed = yield* parseExample(one);
    examples.push(parsed.example);
    problems.push(...parsed.problems);
    if (mended.length < MAX_PROBLEMS) mended.push(...parsed.mended);
    if (problems.length >= MAX_PROBLEMS) break;
  }
  if (problems.length > 0) throw invalid(problems);
  return { examples, mended };
}
