import type { TraceTier } from '../retention/trace-tier.js';
import type { Instant } from '#lib/time';
import type { ProjectReference } from '../project/project-reference.js';
import type { DottedOrder } from './dotted-order.js';
import type { RunPayloads, RunStatus } from '../run/stored-run.js';
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
