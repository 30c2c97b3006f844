import type { Instant } from '#lib/time';
import type { NewFeedback } from '../feedback/feedback.js';
import type { ProjectReference } from '../project/project.js';
import type { TraceTier } from '../retention/trace-tier.js';
import type { PayloadField, RunPayloads, RunStatus } from '../run/stored-run.js';
import type { DottedOrder } from './dotted-order.js';
import type { ModelFacts } from './extra-facts.js';
import type { Usage } from './usage.js';

/** One create or update of a run after parsing; members that it does not mention are absent. */
export interface RunChange {
  readonly kind: 'post' | 'patch';
  /** The operation's, for problems that are found later. */
  readonly place: readonly (string | number)[];
  readonly id: string;
  readonly traceId: string | undefined;
  readonly parentRunId: string | undefined;
  readonly dottedOrder: DottedOrder | undefined;
  readonly project: ProjectReference | undefined;
  readonly startTime: Instant | undefined;
  readonly endTime: Instant | undefined;
  readonly firstTokenTime: Instant | undefined;
  readonly name: string | undefined;
  readonly runType: string | undefined;
  readonly status: RunStatus | undefined;
  readonly tags: readonly string[] | undefined;
  readonly threadId: string | undefined;
  readonly referenceExampleId: string | undefined;
  readonly traceTier: TraceTier | undefined;
  readonly usage: Usage | undefined;
  readonly model: ModelFacts | undefined;
  readonly provider: string | undefined;
  /** Metadata of its `extra`, a view. */
  readonly metadata: Buffer | undefined;
  readonly payloads: RunPayloads;
}

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
