import { Text, TextList, Time, Uuid, Whole } from '../wire/fields.js';
import { FilterText } from './run-conditions.js';
import { SELECTS } from './run-fields-v2.js';

const MOST_NAMED = 1_000;
const PAGE = 100;

/** Body of `POST /api/v2/traces/query`. */
export class TracesQueryRequest {
  @Uuid({ required: true, about: 'Tracing project' })
  project_id: string;

  @TextList({ maxSize: MOST_NAMED, maxLength: 36, about: 'Ids of traces' })
  trace_ids?: string[] | null;

  @Time({ about: 'Traces that began then or later; a day ago when absent and no traces are named' })
  min_start_time?: string | null;

  @Time({ about: 'Traces that began before' })
  max_start_time?: string | null;

  @FilterText('Condition on the roots of the traces')
  trace_filter?: string | null;

  @FilterText('Condition that some run of a trace holds')
  tree_filter?: string | null;

  @TextList({
    maxSize: SELECTS.size,
    choices: [...SELECTS.keys()],
    about: 'Fields to answer; ID alone when absent',
  })
  selects?: string[] | null;

  @Text({ maxLength: 200, about: 'next_cursor of the page before' })
  cursor?: string | null;

  @Whole({ min: 1, max: 1_000, fallback: PAGE, about: `Most traces of a page, which has at most ${PAGE}` })
  page_size?: number | null;
}

/** Query of `GET /api/v2/runs/{run_id}/url`. */
export class RunUrlQuery {
  @Uuid({ required: true, about: 'Tracing project of the run' })
  project_id: string;

  @Uuid({ required: true, about: 'Taken and without effect: a run is found by its id' })
  trace_id: string;

  @Time({ about: 'Taken and without effect' })
  start_time?: string;
}
