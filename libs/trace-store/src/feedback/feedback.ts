import type { Instant } from '#lib/time';

/** Content of feedback on a run or a project: everything but its place. */
export interface FeedbackContent {
  readonly key: string;
  readonly score: number | boolean | undefined;
  /** JSON text, like all of the following but the comment. */
  readonly value: string | undefined;
  readonly correction: string | undefined;
  readonly comment: string | undefined;
  /** `{"type": …, "metadata": …}`. */
  readonly source: string | undefined;
  readonly config: string | undefined;
  readonly extra: string | undefined;
  readonly isError: boolean | undefined;
  /** True when it makes the trace of its run longlived, which it does unless this is false. */
  readonly extendsRetention: boolean | undefined;
  readonly comparativeExperimentId: string | undefined;
  readonly feedbackGroupId: string | undefined;
}

/** Feedback that is to be stored. Ids are in lower case. */
export interface NewFeedback extends FeedbackContent {
  readonly id: string;
  /** Undefined for feedback of a project. */
  readonly runId: string | undefined;
  readonly traceId: string | undefined;
  /** Project of the run, or the one that the feedback is about; required without a run. */
  readonly projectId: string | undefined;
  readonly startTime: Instant | undefined;
  /** Undefined: now. */
  readonly createdAt: Instant | undefined;
  /** Feedback with its id stays as it is: its sender may give feedback, and change none. */
  readonly replacesNone?: boolean;
  /** Place of the feedback in the caller's request: the prefix of `loc` in its problems. */
  readonly place: readonly (string | number)[];
}

export interface StoredFeedback extends FeedbackContent {
  readonly id: string;
  readonly runId: string | undefined;
  /** Trace of the run; until the run has arrived, the trace that the sender named. */
  readonly traceId: string | undefined;
  readonly projectId: string | undefined;
  readonly startTime: Instant | undefined;
  readonly createdAt: Instant;
  readonly modifiedAt: Instant;
}

/** Members that may change later. Undefined leaves a member as it is, null removes it. */
export interface FeedbackChange {
  readonly score?: number | boolean | null | undefined;
  readonly value?: string | null | undefined;
  readonly correction?: string | null | undefined;
  readonly comment?: string | null | undefined;
  readonly config?: string | null | undefined;
}

/** Conditions on feedback; all that are given must hold. */
export interface FeedbackSearch {
  readonly runIds?: readonly string[] | undefined;
  readonly projectIds?: readonly string[] | undefined;
  readonly keys?: readonly string[] | undefined;
  readonly sources?: readonly string[] | undefined;
  readonly comparativeExperimentId?: string | undefined;
  readonly hasComment?: boolean | undefined;
  readonly hasScore?: boolean | undefined;
  /** Subject of the feedback: runs or projects. */
  readonly level?: 'run' | 'session' | undefined;
  readonly createdFrom?: Instant | undefined;
  readonly createdTo?: Instant | undefined;
}

/**
 * Feedback of runs and projects. `onlyProject` is the id of the one project that a caller reaches, undefined
 * for one that reaches all; feedback on other projects is not found.
 */
export interface Feedbacks {
  /**
   * Stores feedback; one that has its id is replaced, unless `replacesNone`. Feedback of a run that has not arrived waits for it.
   * @throws PublicError not_found for a project, forbidden, conflict, too_many
   */
  create(tenantId: string, feedback: NewFeedback, onlyProject?: OwnedProject): Promise<StoredFeedback>;
  get(tenantId: string, id: string, onlyProject?: string): Promise<StoredFeedback | undefined>;
  /** @returns the feedback as it is now */
  update(
    tenantId: string,
    id: string,
    change: FeedbackChange,
    onlyProject?: string,
  ): Promise<StoredFeedback | undefined>;
  /** @returns whether there was one */
  delete(tenantId: string, id: string, onlyProject?: string): Promise<boolean>;
  /** Newest first. @throws PublicError bad_request when finding them takes longer than a few seconds */
  list(
    tenantId: string,
    search: FeedbackSearch,
    page: { readonly limit: number; readonly offset: number },
    onlyProject?: string,
  ): Promise<readonly StoredFeedback[]>;
}

/** The one project that a sender may write into. */
export interface OwnedProject {
  readonly id: string;
  readonly name: string;
}
