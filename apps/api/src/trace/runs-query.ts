import { Transform } from 'class-transformer';
import { Choice, Flag, Text, TextList, Time, Uuid, Whole } from '../wire/fields.js';
import {
  Answered,
  asList,
  FLAG,
  JSON_VALUE,
  listOf,
  NUMBER,
  object,
  orNull,
  Perhaps,
  TEXT,
  TIME,
  WHOLE,
} from '../wire/shape.js';
import { RunV2Answer, SELECTABLE, SelectedRunAnswer, SELECTS } from './run-fields.js';

/** A condition in the filter language. */
export function FilterText(about: string): PropertyDecorator {
  return Text({ maxLength: 100_000, about });
}

/** The conditions on runs that both wires spell alike. */
class RunConditions {
  @Flag({ about: 'Whether the runs are the roots of their traces' })
  is_root?: boolean | null;

  @FilterText('Condition on the run')
  filter?: string | null;

  @FilterText('Condition on the root of its trace')
  trace_filter?: string | null;

  @FilterText('Condition that some run of its trace holds')
  tree_filter?: string | null;
}

const MOST_NAMED = 1_000;
const MOST_PROJECTS = 100;
/** A page of either wire. */
const PAGE = 100;
const MOST = 2_147_483_647;

/** Conditions on runs, in the first API. */
export class WantedRunsRequest extends RunConditions {
  @TextList({
    maxSize: MOST_PROJECTS,
    maxLength: 36,
    about: 'Ids of tracing projects; all of them when absent',
  })
  session?: string[] | null;

  @Uuid({ about: 'One more tracing project: a client sends it so' })
  session_id?: string | null;

  @TextList({ maxSize: MOST_NAMED, maxLength: 36, about: 'Ids of runs' })
  id?: string[] | null;

  @Uuid({ about: 'The trace of the runs' })
  trace?: string | null;

  @Uuid({ about: 'The run whose children are wanted' })
  parent_run?: string | null;

  @TextList({ maxSize: MOST_NAMED, maxLength: 36, about: 'Ids of examples' })
  @Transform(asList)
  reference_example?: string[] | null;

  @Text({ maxLength: 64, about: 'For example chain, llm, tool' })
  run_type?: string | null;

  @Time({ about: 'Runs that began then or later' })
  start_time?: string | null;

  @Time({ about: 'Runs that began then or earlier' })
  end_time?: string | null;

  @Flag({ about: 'Whether the runs failed' })
  error?: boolean | null;

  @Whole({ min: 1, max: 1, about: 'The roots of traces; the old spelling of is_root' })
  execution_order?: number | null;

  @Text({ maxLength: 1_000, about: 'Text that some field of the run has in it' })
  query?: string | null;

  @Text({ maxLength: 64, about: 'Taken and without effect: there is one source' })
  data_source_type?: string | null;
}

/** Body of `POST /runs/query`. */
export class RunsQueryRequest extends WantedRunsRequest {
  @TextList({
    maxSize: SELECTABLE.size,
    choices: [...SELECTABLE.keys()],
    about: 'Fields to answer; all but serialized when absent',
  })
  select?: string[] | null;

  @Choice(['asc', 'desc'], { about: 'By start time; desc when absent' })
  order?: 'asc' | 'desc' | null;

  @Whole({
    min: 1,
    max: MOST,
    fallback: PAGE,
    about: `Most runs; a page has at most ${PAGE}, the cursor leads to more`,
  })
  limit?: number | null;

  @Text({ maxLength: 200, about: 'cursors.next of the page before' })
  cursor?: string | null;

  @Flag({ about: 'Taken and without effect: there are no pages before' })
  skip_prev_cursor?: boolean | null;

  @Flag({ about: 'Taken and without effect' })
  use_experimental_search?: boolean | null;
}

/** Fields of a run on the second wire. */
function Selects(): PropertyDecorator {
  return TextList({
    maxSize: SELECTS.size,
    choices: [...SELECTS.keys()],
    about: 'Fields to answer; ID alone when absent',
  });
}

/** Body of `POST /api/v2/runs/query`. */
export class RunsQueryV2Request extends RunConditions {
  @TextList({ maxSize: MOST_PROJECTS, maxLength: 36, about: 'Ids of tracing projects; all when absent' })
  project_ids?: string[] | null;

  @TextList({ maxSize: MOST_NAMED, maxLength: 36, about: 'Ids of runs' })
  ids?: string[] | null;

  @Uuid({ about: 'The trace of the runs' })
  trace_id?: string | null;

  @TextList({ maxSize: MOST_NAMED, maxLength: 36, about: 'Ids of examples' })
  reference_examples?: string[] | null;

  @Text({ maxLength: 64, about: 'For example CHAIN, LLM, TOOL' })
  run_type?: string | null;

  @Flag({ about: 'Whether the runs failed' })
  has_error?: boolean | null;

  @Time({ about: 'Runs that began then or later; a day ago when neither ids nor a trace are named' })
  min_start_time?: string | null;

  @Time({ about: 'Runs that began then or earlier' })
  max_start_time?: string | null;

  @Selects()
  selects?: string[] | null;

  @Choice(['ASC', 'DESC'], { about: 'By start time; DESC when absent' })
  sort_order?: 'ASC' | 'DESC' | null;

  @Whole({
    min: 1,
    max: 1_000,
    fallback: PAGE,
    about: `Most runs of a page, which has at most ${PAGE}: the cursor leads to more`,
  })
  page_size?: number | null;

  @Text({ maxLength: 200, about: 'next_cursor of the page before' })
  cursor?: string | null;
}

function many({ value }: { readonly value: unknown }): unknown {
  return typeof value === 'string' ? value.split(',') : value;
}

/** Query of `GET /api/v2/runs/{run_id}`. */
export class RunV2Query {
  @Uuid({ required: true, about: 'Tracing project of the run' })
  project_id: string;

  @Time({
    about: 'Of the run, which is found by its id; says of one that is not whether it was too old to be kept',
  })
  start_time?: string;

  @Selects()
  @Transform(many)
  selects?: string[];
}

/** Query of `GET /api/v2/traces/{trace_id}/runs`. */
export class TraceRunsQuery {
  @Uuid({ required: true, about: 'Tracing project of the trace' })
  project_id: string;

  @Time({ about: 'Runs that began then or later' })
  min_start_time?: string;

  @Time({ about: 'Runs that began then or earlier' })
  max_start_time?: string;

  @FilterText('Condition on the runs')
  filter?: string;

  @Selects()
  @Transform(many)
  selects?: string[];
}

/** Tokens and costs of a run on the second wire, as far as they were selected. */
export class UsageV2Answer {
  @Perhaps(WHOLE) readonly total_tokens?: number;
  @Perhaps(WHOLE) readonly prompt_tokens?: number;
  @Perhaps(WHOLE) readonly completion_tokens?: number;
  @Perhaps(orNull(NUMBER), 'Dollars') readonly total_cost?: number | null;
  @Perhaps(orNull(NUMBER), 'Dollars') readonly prompt_cost?: number | null;
  @Perhaps(orNull(NUMBER), 'Dollars') readonly completion_cost?: number | null;
}

class CursorsAnswer {
  @Answered(orNull(TEXT), 'cursor of the next page; null when there is none') readonly next: string | null;
  @Answered(orNull(TEXT)) readonly prev: null;
}

/** Description of a page that ended before it was full. */
export const LOOKED_TO =
  'Only where a filter reads payloads and the time of a page (2.5 s) was over before it was full: runs up to this start were looked at, the cursor continues';

/** A page of runs. */
export class RunsPageAnswer {
  @Answered(listOf(() => SelectedRunAnswer), 'With the fields that select names')
  readonly runs: readonly SelectedRunAnswer[];
  @Answered(object(() => CursorsAnswer)) readonly cursors: CursorsAnswer;
  @Answered(JSON_VALUE) readonly search_cursors: null;
  @Answered(orNull(TEXT)) readonly parsed_query: null;
  @Perhaps(TIME, LOOKED_TO) readonly looked_to?: string;
}

/** A page of runs on the second wire. */
export class RunsPageV2Answer {
  @Answered(listOf(() => RunV2Answer)) readonly items: readonly RunV2Answer[];
  @Answered(FLAG) readonly has_more: boolean;
  @Answered(orNull(TEXT), 'cursor of the next page; null when there is none') readonly next_cursor:
    string | null;
  @Perhaps(TIME, LOOKED_TO) readonly looked_to?: string;
}

/** The runs of a trace. */
export class TraceRunsAnswer {
  @Answered(listOf(() => RunV2Answer), 'By start time') readonly items: readonly RunV2Answer[];
}
