import type { NewFeedback } from '../feedback/feedback.js';
import type { PayloadField } from '../run/payload-field.js';

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
