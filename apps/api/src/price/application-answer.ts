import { formatInstant, type Instant } from '#lib/time';
import type { PriceApplication, UnmatchedModel } from '#lib/trace-store';
import { Answered, orNull, TEXT, TIME, UUID, WHOLE, words } from '../wire/shape.js';

/** Stored runs that are priced again, and how far that came. */
export class PriceApplicationAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly session_id: string;
  @Answered(orNull(TIME), 'Runs that began then or later') readonly start_time: string | null;
  @Answered(orNull(TIME), 'Runs that began before') readonly end_time: string | null;
  @Answered(words(['pending', 'completed'])) readonly status: 'pending' | 'completed';
  @Answered(orNull(TIME), 'Runs up to this start were looked at') readonly reached_time: string | null;
  @Answered(WHOLE, 'Calls of models without costs of their senders') readonly runs_looked_at: number;
  @Answered(WHOLE) readonly runs_changed: number;
  @Answered(WHOLE, 'Those that no price meets') readonly runs_without_price: number;
  @Answered(TIME) readonly requested_at: string;
  @Answered(orNull(TIME)) readonly completed_at: string | null;
  @Answered(orNull(TEXT), 'Why the last attempt failed; it is repeated') readonly problem: string | null;
}

/** A model whose runs have tokens and no cost. */
export class UnmatchedModelAnswer {
  @Answered(orNull(TEXT), 'Null: the senders named none') readonly model: string | null;
  @Answered(orNull(TEXT)) readonly provider: string | null;
  @Answered(WHOLE) readonly runs: number;
  @Answered(WHOLE) readonly total_tokens: number;
  @Answered(TIME) readonly first_start_time: string;
  @Answered(TIME) readonly last_start_time: string;
}

function time(instant: Instant | undefined): string | null {
  return instant === undefined ? null : formatInstant(instant);
}

export function renderApplication(one: PriceApplication): PriceApplicationAnswer {
  return {
    id: one.id,
    session_id: one.projectId,
    start_time: time(one.from),
    end_time: time(one.to),
    status: one.completedAt === undefined ? 'pending' : 'completed',
    reached_time: time(one.reachedTime),
    runs_looked_at: one.lookedAt,
    runs_changed: one.changed,
    runs_without_price: one.withoutPrice,
    requested_at: formatInstant(one.requestedAt),
    completed_at: time(one.completedAt),
    problem: one.problem ?? null,
  };
}

export function renderUnmatched(one: UnmatchedModel): UnmatchedModelAnswer {
  return {
    model: one.model ?? null,
    provider: one.provider ?? null,
    runs: one.runs,
    total_tokens: one.totalTokens,
    first_start_time: formatInstant(one.firstStartTime),
    last_start_time: formatInstant(one.lastStartTime),
  };
}
