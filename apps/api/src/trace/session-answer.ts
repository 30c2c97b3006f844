import { Answered, JSON_VALUE, orNull, Perhaps, TEXT, TIME, UUID, WHOLE } from '../wire/shape.js';
import { describeStatistics } from './statistics-answer.js';

/** A tracing project on the wire. */
export class ProjectAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT) readonly name: string;
  @Answered(orNull(TEXT)) readonly description: string | null;
  @Answered(TIME) readonly start_time: string;
  @Answered(orNull(TIME)) readonly end_time: string | null;
  @Answered(JSON_VALUE) readonly extra: unknown;
  @Answered(orNull(UUID)) readonly default_dataset_id: string | null;
  @Answered(orNull(UUID)) readonly reference_dataset_id: string | null;
  @Answered(orNull(WHOLE), 'Number among the experiments of the dataset') readonly test_run_number:
    number | null;
  @Answered(orNull(TIME)) readonly last_run_start_time_live: string | null;
  @Answered(orNull(TEXT)) readonly trace_tier: string | null;
}
// statistics are part of the answer when include_stats is set
describeStatistics(ProjectAnswer, Perhaps);
