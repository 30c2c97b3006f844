import { Answered, FLAG, listOf, orNull, TIME, UUID, WHOLE, words } from '../wire/shape.js';

const COUNT =
  'Runs that came or changed after the export had begun to read them; null where that is not known';
const FIRST = 'Start time of the first of them';
const LAST = 'Start time of the last of them';

/** Late runs of a day of an export, on the wire. */
export class LateDayAnswer {
  @Answered(TIME, 'Inclusive') readonly start_time: string;
  @Answered(TIME, 'Exclusive') readonly end_time: string;
  @Answered(orNull(WHOLE), COUNT) readonly late_runs: number | null;
  @Answered(orNull(TIME), FIRST) readonly first_start_time: string | null;
  @Answered(orNull(TIME), LAST) readonly last_start_time: string | null;
  @Answered(
    orNull(words(['too_long', 'no_mark'])),
    'Why late_runs is null: counting took too long; nothing says what the export has read, which an earlier version or another database made',
  )
  readonly unknown: 'too_long' | 'no_mark' | null;
}

/** Late runs of an export, on the wire. */
export class LateRunsAnswer {
  @Answered(UUID) readonly bulk_export_id: string;
  @Answered(WHOLE, 'Of all days that were counted') readonly late_runs: number;
  @Answered(FLAG, 'Whether every day was counted') readonly exact: boolean;
  @Answered(orNull(TIME), FIRST) readonly first_start_time: string | null;
  @Answered(orNull(TIME), LAST) readonly last_start_time: string | null;
  @Answered(listOf(() => LateDayAnswer), 'By the time of their window')
  readonly days: readonly LateDayAnswer[];
}
