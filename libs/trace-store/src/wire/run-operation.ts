import { type FieldProblem, PublicError } from '#lib/errors';
import { type ByteRange, eachItem, eachMember, expectEnd, type JsonWalk } from '#lib/json';
import type { Instant } from '#lib/time';
import type { NewFeedback } from '../feedback/feedback.js';
import type { ProjectReference } from '../project/project.js';
import type { ColumnsWith, PayloadField, PropertyOf, RunPayloads, RunRow } from '../run/stored-run.js';
import type { DottedOrder } from './dotted-order.js';
import type { ModelFacts } from './extra-facts.js';
import type { Usage } from './usage.js';

/** Columns whose values an operation may state, each under the name that it has in a row. */
type StatedColumns = PropertyOf<ColumnsWith<{ changes: 'replace' }> | ColumnsWith<{ sent: string }>>;

/** One create or update of a run after parsing; members that it does not mention are absent. */
export type RunChange = {
  readonly [Name in StatedColumns]: Exclude<RunRow[Name], ''> | undefined;
} & {
  readonly kind: 'post' | 'patch';
  /** The operation's, for problems that are found later. */
  readonly place: readonly (string | number)[];
  readonly id: string;
  readonly traceId: string | undefined;
  readonly parentRunId: string | undefined;
  readonly dottedOrder: DottedOrder | undefined;
  readonly project: ProjectReference | undefined;
  readonly startTime: Instant | undefined;
  readonly usage: Usage | undefined;
  readonly model: ModelFacts | undefined;
  /** Metadata of its `extra`, a view. */
  readonly metadata: Buffer | undefined;
  readonly payloads: RunPayloads;
};

/** One create or update of a run, as it came over the wire. */
export interface RunOperation {
  /** The run's JSON object. It may contain payload members itself; those in `fields` win. */
  readonly run: Buffer;
  /**
   * Id from the address (`PATCH /runs/{id}`, a multipart part's name); must agree with the object's `id` if
   * both are there.
   */
  readonly id?: string;
  /** Id for a create that has none of its own, in its object or its dotted order. */
  readonly newId?: string;
  /** JSON values that came apart from the object. */
  readonly fields?: Readonly<Partial<Record<PayloadField, Buffer>>>;
  /**
   * Place of the operation in the caller's request, in the caller's terms: the prefix of `loc` in its
   * problems. Empty when left out.
   */
  readonly place?: readonly (string | number)[];
}

/** A part of a request that is taken and not stored, since clients send it unasked. */
export interface LeftOut {
  readonly type: 'attachment';
  readonly runId?: string | undefined;
  readonly member?: string | undefined;
  /** Reason for people; absent: parts of this type are not stored at all. */
  readonly why?: string | undefined;
}

/** Creates and updates that came together; an update may precede its create. */
export interface RunBatch {
  readonly post: readonly RunOperation[];
  readonly patch: readonly RunOperation[];
  readonly leftOut?: readonly LeftOut[];
  /** Feedback on these runs, or on others. */
  readonly feedback?: readonly NewFeedback[];
}

/**
 * Maximum number of operations; clients send a hundred at a time. Each costs many times its bytes in memory
 * while it is parsed.
 */
const MAX_OPERATIONS = 20_000;
/** Far deeper than a run may be: a problem of one run must not refuse the others of its batch. */
const SPLIT = { levels: 1000, isLenient: true };

/**
 * Maximum number of members of a batch that are examined. Two are known, and a client must not fill time and
 * memory with its own problems.
 */
const MAX_MEMBERS = 100;
const MAX_NAME = 200;

function refuse(problems: readonly FieldProblem[]): never {
  throw new PublicError('invalid', 'the batch is not valid', problems);
}

/**
 * Takes `{"post": […], "patch": […]}` apart without building it, so that each run keeps its bytes.
 * @param place of the whole, in the caller's terms
 * @throws JsonSyntaxError when it is no JSON of that shape. PublicError too_large; invalid for other members, and for neither
 * of the two: runs under a misspelt name would be lost
 */
export function* splitBatch(body: Buffer, place: readonly (string | number)[] = []): JsonWalk<RunBatch> {
  const batch: { post: RunOperation[]; patch: RunOperation[] } = { post: [], patch: [] };
  function* take(name: 'post' | 'patch', range: ByteRange): JsonWalk<void> {
    if (range.end - range.start === 4 && body.toString('latin1', range.start, range.end) === 'null') return;
    const operations = batch[name];
    const visit = (item: ByteRange): void => {
      if (batch.post.length + batch.patch.length === MAX_OPERATIONS)
        throw new PublicError('too_large', `A batch can have at most ${MAX_OPERATIONS} runs and updates`);
      operations.push({
        run: body.subarray(item.start, item.end),
        place: [...place, name, operations.length],
      });
    };
    yield* eachItem(body, range.start, visit, SPLIT);
  }
  const unknown = new Set<string>();
  const refuseUnknown = (): never =>
    refuse(
      [...unknown].map((name) => ({
        loc: [...place, name],
        msg: 'Unknown member; known here: post, patch',
        type: 'extra_forbidden',
      })),
    );
  let members = 0;
  const visit = (name: string, range: ByteRange): JsonWalk<void> | void => {
    const work = name === 'post' || name === 'patch' ? take(name, range) : undefined;
    if (!work) unknown.add(name.slice(0, MAX_NAME));
    if (++members < MAX_MEMBERS) return work;
    if (unknown.size > 0) refuseUnknown();
    refuse([{ loc: [...place, name], msg: 'Member sent too often; send it once', type: 'value_error' }]);
  };
  const end = yield* eachMember(body, 0, visit, SPLIT);
  expectEnd(body, end);
  if (members === 0)
    refuse([{ loc: [...place, 'post'], msg: 'Field required: post or patch', type: 'missing' }]);
  if (unknown.size > 0) refuseUnknown();
  return batch;
}
