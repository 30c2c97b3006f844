import type { Caller } from '#lib/auth';
import { PublicError, type FieldProblem } from '#lib/errors';
import type { BufferBudget } from '#lib/http';
import { isUuid } from '#lib/resources';
import { parseExample, type ExampleWrite, type SentExample, type TraceStore } from '#lib/trace-store';
import { UnreadableError } from '../trace/byte-reader.js';
import { HeldBody } from '../trace/held-body.js';
import { boundaryOf, multipartParts, type MultipartPart } from '../trace/multipart.js';
import type { SentBody } from '../trace/sent-body.js';
import { MAX_PROBLEMS } from '../wire/excess.js';
import { invalid } from '../wire/request-pipe.js';

/** Of one request, which is one version of the dataset and one transaction. */
const MAX_EXAMPLES = 10_000;
/** Inputs and outputs of an example together are no longer, nor is one of them. */
const MAX_PART_BYTES = 16_777_216 + 65_536;
const MAX_NAME = 200;

const NAME = /^([0-9a-f-]{36})(?:\.(inputs|outputs|attachments_operations|attachment\..{0,1000}))?$/is;

type OpenExample = { -readonly [K in keyof SentExample]: SentExample[K] };

/** What became of an upload. */
export interface UploadedExamples {
  readonly ids: readonly string[];
  readonly asOf: bigint;
  readonly mended: readonly FieldProblem[];
}

/** Examples that come as multipart bodies: all of a body are stored as one version, or none. */
export class ExampleUploads {
  constructor(
    private readonly store: Pick<TraceStore, 'examples'>,
    private readonly budget: BufferBudget,
    private readonly maxBodyBytes: number,
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
      const sent = await this.#read(held, boundary);
      const { examples, mended } = parseAll(sent);
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

  async #read(held: HeldBody, boundary: string): Promise<readonly SentExample[]> {
    const examples = new Map<string, OpenExample>();
    const limits = {
      maxBytes: this.maxBodyBytes,
      maxPartBytes: Math.min(MAX_PART_BYTES, this.maxBodyBytes),
    };
    for await (const part of multipartParts(held.pieces(), boundary, limits)) take(part, examples);
    return [...examples.values()];
  }
}

/** Puts a part where it belongs. What cannot be stored ends the upload at once. @throws PublicError invalid */
function take({ name, body }: MultipartPart, examples: Map<string, OpenExample>): void {
  const [, id, field = 'body'] = NAME.exec(name) ?? [];
  if (id === undefined || !isUuid(id))
    throw refused(name, 'the name of a part should be ID, ID.inputs or ID.outputs', 'value_error');
  if (field !== 'body' && field !== 'inputs' && field !== 'outputs')
    throw refused(
      name,
      `attachments are not stored by this platform yet; leave ${field.slice(0, MAX_NAME)} out`,
      'not_supported',
    );
  const key = id.toLowerCase();
  const open = examples.get(key);
  if (!open && examples.size === MAX_EXAMPLES)
    throw refused(name, `a request has at most ${MAX_EXAMPLES} examples; send them in several`, 'too_long');
  if (open?.[field] !== undefined) throw refused(name, 'the part came twice', 'value_error');
  if (open) open[field] = body;
  else examples.set(key, { id: key, place: ['body', key], [field]: body });
}

function refused(name: string, msg: string, type: string): PublicError {
  return invalid([{ loc: ['body', name.slice(0, MAX_NAME)], msg, type }]);
}

/** @throws PublicError invalid with the first hundred problems */
function parseAll(sent: readonly SentExample[]): {
  readonly examples: readonly ExampleWrite[];
  readonly mended: readonly FieldProblem[];
} {
  const [problems, mended]: [FieldProblem[], FieldProblem[]] = [[], []];
  const examples: ExampleWrite[] = [];
  for (const one of sent) {
    const parsed = parseExample(one);
    examples.push(parsed.example);
    problems.push(...parsed.problems);
    if (mended.length < MAX_PROBLEMS) mended.push(...parsed.mended);
    if (problems.length >= MAX_PROBLEMS) break;
  }
  if (problems.length > 0) throw invalid(problems);
  return { examples, mended };
}
