import { Answered, listOf, NUMBER, object, orNull, Perhaps, TEXT, TIME, WHOLE } from '../wire/shape.js';
import { RunV2Answer } from './runs-query-answer.js';

/** Sums of all runs of a trace, with the fields that `selects` names. */
export class TraceTotalsAnswer {
  @Perhaps(WHOLE) readonly total_tokens?: number;
  @Perhaps(orNull(NUMBER)) readonly total_cost?: number | null;
  @Perhaps(orNull(TIME)) readonly first_token_time?: string | null;
}

export class TraceAnswer {
  @Answered(object(() => RunV2Answer), 'Its root, with the fields that selects names')
  readonly root_run: RunV2Answer;
  @Perhaps(object(() => TraceTotalsAnswer), 'Absent where selects names none of them')
  readonly trace_aggregates?: TraceTotalsAnswer;
}

export class TracesPageAnswer {
  @Answered(listOf(() => TraceAnswer), 'The one that began last comes first')
  readonly items: readonly TraceAnswer[];
  @Answered(orNull(TEXT), 'cursor of the next page; null when there is none') readonly next_cursor:
    string | null;
}

export class RunUrlAnswer {
  @Answered(TEXT, 'Address of the page of the run, for people with a key') readonly url: string;
}
