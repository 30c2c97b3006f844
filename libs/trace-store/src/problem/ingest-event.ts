import type { ProjectReference } from '../project/project-reference.js';

/** Refused: the run was not stored. Mended: it was, with a member changed. Dropped: without a member. */
export type IngestEventKind = 'refused' | 'mended' | 'dropped';

/** Something that was not stored as it came. */
export interface IngestEvent {
  readonly kind: IngestEventKind;
  /** A stable word. */
  readonly type: string;
  readonly runId?: string | undefined;
  /** Undefined when the operation names none: it is that of the run, if there is one. */
  readonly project?: ProjectReference | undefined;
  readonly member?: string | undefined;
  readonly message: string;
  /** Number of events like this one that it represents. */
  readonly times: number;
}
