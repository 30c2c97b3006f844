import type { FieldProblem } from '#lib/errors';
import {
  type LeftOut,
  PAYLOAD_FIELDS,
  type PayloadField,
  type RunBatch,
  type RunOperation,
} from '#lib/trace-store';
import { UnreadableError } from './byte-reader.js';
import type { MultipartPart } from './multipart.js';

/** A batch is handed on at this size: memory stays bounded, and one transaction stores many runs. */
const FULL_BYTES = 8_388_608;
const FULL_OPERATIONS = 500;

/** Parts of a request that were not stored, by kind. */
export interface NotKept {
  readonly attachments: number;
}

interface OpenOperation {
  readonly kind: 'post' | 'patch';
  readonly id: string;
  run: Buffer | undefined;
  readonly fields: Partial<Record<PayloadField, Buffer>>;
}

/** Parts of a batch that are named; all of them are counted in the answer. */
const MAX_LEFT_OUT = 1_000;
const MAX_NAME = 200;
/** Maximum number of feedback parts per request: each part is read and checked by itself. */
const MAX_FEEDBACK = 20_000;
/**
 * Maximum number of operations per request, the same as for a batch in JSON: each costs many times its bytes.
 */
const MAX_OPERATIONS = 20_000;
/** Its members are shorter together. */
const MAX_FEEDBACK_BYTES = 131_072;

const NAME = /^(post|patch)\.([^.]{1,64})(?:\.([a-z_]{1,32}))?$/;

/**
 * Puts the parts of `/runs/multipart` together to operations. A run's own part comes first, its fields follow.
 */
export class MultipartRuns {
  readonly #operations: OpenOperation[] = [];
  readonly #byName = new Map<string, OpenOperation>();
  #bytes = 0;
  readonly #notKept = { attachments: 0 };
  #feedback: MultipartPart[] = [];
  #feedbackBytes = 0;
  #feedbackCount = 0;
  #operationCount = 0;
  #leftOut: LeftOut[] = [];
  readonly problems: FieldProblem[] = [];

  /** @throws UnreadableError for more runs than a request may have */
  add(part: MultipartPart): void {
    const match = NAME.exec(part.name);
    if (!match) {
      if (part.name.startsWith('feedback.')) {
        this.#addFeedback(part);
      } else
        this.#refuse(
          part.name,
          'the name of a part should be post.ID, patch.ID, post.ID.FIELD or patch.ID.FIELD',
        );
      return;
    }
    const [, kind, id = '', field] = match;
    const operation = this.#operationOf(kind as 'post' | 'patch', id, field === undefined);
    this.#bytes += part.body.length;
    const payload = PAYLOAD_FIELDS.find((known) => known === field);
    if (field === undefined) operation.run = part.body;
    else if (payload) operation.fields[payload] = part.body;
    else this.#refuse(part.name, `${field} cannot be sent in a part of its own; send it inside of its run`);
  }

  /** An attachment whose run is stored without it. */
  leaveOutAttachment(partName: string, why: string): void {
    this.#notKept.attachments++;
    const [, runId, ...file] = partName.split('.');
    const member = file.join('.');
    this.#leaveOut({ type: 'attachment', runId, member, why: `storing the attachment failed: ${why}` });
  }

  /** Parts that are accepted, since clients send them unasked, and not stored. */
  get notKept(): NotKept {
    return this.#notKept;
  }

  /** Takes feedback, each in one part. It must be called before `take`, which counts the rest. */
  takeFeedback(): readonly MultipartPart[] {
    const feedback = this.#feedback;
    this.#feedback = [];
    this.#feedbackBytes = 0;
    return feedback;
  }

  /** True when something that was left out is not noted with a batch yet. */
  get hasLeftOut(): boolean {
    return this.#leftOut.length > 0;
  }

  /** Bytes of parts that were not taken yet. */
  get heldBytes(): number {
    return this.#bytes + this.#feedbackBytes;
  }

  /** True when a batch should be taken. More parts of the last operation may follow. */
  get isFull(): boolean {
    if (this.#feedback.length >= FULL_OPERATIONS || this.#feedbackBytes >= FULL_BYTES) return true;
    // the last operation may be incomplete, so it cannot be taken alone, whatever its size
    if (this.#operations.length < 2) return false;
    return this.#bytes >= FULL_BYTES || this.#operations.length > FULL_OPERATIONS;
  }

  /**
   * Takes complete operations.
   * @param isLast no more parts will come, so the last operation is complete, too
   */
  take(isLast: boolean): RunBatch {
    const complete = this.#operations.splice(0, this.#operations.length - (isLast ? 0 : 1));
    this.#bytes = isLast ? 0 : sizeOf(this.#operations);
    const batch: { post: RunOperation[]; patch: RunOperation[]; leftOut: LeftOut[] } = {
      post: [],
      patch: [],
      leftOut: this.#leftOut,
    };
    this.#leftOut = [];
    for (const operation of complete) {
      const { kind, id, run, fields } = operation;
      const name = `${kind}.${id}`;
      batch[kind].push({ id, run: run ?? Buffer.from('{}'), fields, place: ['body', name] });
      // a run that came twice may be open again
      if (this.#byName.get(name) === operation) this.#byName.delete(name);
    }
    return batch;
  }

  #addFeedback(part: MultipartPart): void {
    if (part.body.length > MAX_FEEDBACK_BYTES)
      return this.#refuse(part.name, `feedback should be at most ${MAX_FEEDBACK_BYTES} bytes long`);
    if (this.#feedbackCount === MAX_FEEDBACK)
      return this.#refuse(part.name, `a request should have at most ${MAX_FEEDBACK} parts with feedback`);
    this.#feedback.push(part);
    this.#feedbackCount++;
    this.#feedbackBytes += part.body.length;
    this.#bytes += part.body.length;
  }

  #leaveOut(part: LeftOut): void {
    if (this.#leftOut.length < MAX_LEFT_OUT)
      this.#leftOut.push({ ...part, member: part.member?.slice(0, MAX_NAME) });
  }

  #operationOf(kind: 'post' | 'patch', id: string, isRun: boolean): OpenOperation {
    const name = `${kind}.${id}`;
    const open = this.#byName.get(name);
    if (open && !(isRun && open.run !== undefined)) return open;
    if (this.#operationCount === MAX_OPERATIONS)
      throw new UnreadableError(`the body has more than ${MAX_OPERATIONS} runs and updates`, true);
    this.#operationCount++;
    const made: OpenOperation = { kind, id, run: undefined, fields: {} };
    this.#operations.push(made);
    this.#byName.set(name, made);
    return made;
  }

  #refuse(name: string, msg: string): void {
    // a broken client must not fill memory with its own problems
    if (this.problems.length < 100)
      this.problems.push({ loc: ['body', name.slice(0, MAX_NAME)], msg, type: 'value_error' });
  }
}

function sizeOf(operations: readonly OpenOperation[]): number {
  let bytes = 0;
  for (const { run, fields } of operations)
    for (const part of [run, ...Object.values(fields)]) bytes += part?.length ?? 0;
  return bytes;
}
