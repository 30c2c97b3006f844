import type { Admission } from '#lib/admission';
import type { Caller } from '#lib/auth';
import { PublicError, type FieldProblem } from '#lib/errors';
import { inTurns, type JsonWalk } from '#lib/json';
import { isUuid } from '#lib/resources';
import { parseExample, type ExampleWrite, type SentExample, type TraceStore } from '#lib/trace-store';
import type { AttachmentKeeper } from '../attachment/attachment-keeper.js';
import { UnreadableError } from '../trace/byte-reader.js';
import { HeldBody } from '../trace/held-body.js';
import { boundaryOf, multipartParts } from '../trace/multipart.js';
import type { SentBody } from '../trace/sent-body.js';
import { MAX_PROBLEMS } from '../wire/excess.js';
import { invalid } from '../wire/request-pipe.js';
import { ExampleAttachmentIntake, WrongPartError } from './example-attachments.js';

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
