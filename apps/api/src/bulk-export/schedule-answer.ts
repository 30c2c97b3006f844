import type { RenderedSchedule } from '#lib/export-plan';
import { Answered, FLAG, orNull, TIME, WHOLE } from '../wire/shape.js';

/** Progress of a schedule, in the API. */
export class ScheduleAnswer implements RenderedSchedule {
  @Answered(FLAG, 'Makes no exports while true; none of the windows that end meanwhile is skipped')
  readonly paused: boolean;
  @Answered(orNull(TIME), 'Start of the window whose export is made next')
  readonly next_start_time: string | null;
  @Answered(orNull(TIME), 'Its end, at which the export is made; rows are read ten minutes later')
  readonly next_end_time: string | null;
  @Answered(WHOLE, 'Windows that have ended and have no export yet') readonly windows_behind: number;
  @Answered(WHOLE, 'Seconds since the end of the first of them; 0 when there is none')
  readonly lag_seconds: number;
  @Answered(WHOLE, 'Exports that it made and that have not ended') readonly unfinished_exports: number;
}
