import { Transform, Type } from 'class-transformer';
import { FilterText } from '../trace/run-conditions.js';
import { Choice, Text, TextList, Time, Uuid, Whole } from '../wire/fields.js';
import { THREAD_TOTALS } from './thread-totals.js';
import { TRACE_SELECTS } from './trace-fields.js';

/** A page of either wire. */
const PAGE = 100;

/** Body of `POST /runs/group`. */
export class RunGroupsRequest {
  @Uuid({ required: true, about: 'Tracing project' })
  session_id: string;

  @Choice(['conversation'], { required: true, about: 'By thread' })
  group_by: 'conversation';

  @FilterText('Condition on the roots of the traces')
  filter?: string | null;

  @Time({ about: 'Traces that began then or later' })
  start_time?: string | null;

  @Time({ about: 'Traces that began then or earlier' })
  end_time?: string | null;

  @Whole({ min: 0, max: 1_000_000, fallback: 0, about: 'Threads to skip' })
  offset?: number | null;

  @Whole({ min: 1, max: 2_147_483_647, fallback: PAGE, about: `Most threads; a page has at most ${PAGE}` })
  limit?: number | null;
}

/** Body of `POST /api/v2/threads/query`. */
export class ThreadsQueryRequest {
  @Uuid({ required: true, about: 'Tracing project' })
  project_id: string;

  @Time({ about: 'Traces that began then or later; a day ago when absent' })
  min_start_time?: string | null;

  @Time({ about: 'Traces that began before' })
  max_start_time?: string | null;

  @FilterText('Condition on the roots of the traces')
  filter?: string | null;

  @FilterText('The same; both must hold')
  trace_filter?: string | null;

  @FilterText('Condition that some run of a trace holds')
  tree_filter?: string | null;

  @Text({ maxLength: 4_000, about: 'next_cursor of the page before' })
  cursor?: string | null;

  @Whole({ min: 1, max: 1_000, fallback: PAGE, about: `Most threads of a page, which has at most ${PAGE}` })
  page_size?: number | null;
}

function many({ value }: { readonly value: unknown }): unknown {
  return typeof value === 'string' ? value.split(',') : value;
}

/** Query of `GET /api/v2/threads/{thread_id}/traces`. */
export class ThreadTracesQuery {
  @Uuid({ required: true, about: 'Tracing project of the thread' })
  project_id: string;

  @FilterText('Condition on the roots of the traces')
  filter?: string;

  @FilterText('The same; both must hold')
  trace_filter?: string;

  @FilterText('Condition that some run of a trace holds')
  tree_filter?: string;

  @TextList({
    maxSize: TRACE_SELECTS.size,
    choices: [...TRACE_SELECTS.keys()],
    about: 'Fields to answer beside trace_id',
  })
  @Transform(many)
  selects?: string[];

  @Text({ maxLength: 200, about: 'next_cursor of the page before' })
  cursor?: string;

  @Whole({ min: 1, max: 1_000, fallback: PAGE, about: `Most traces of a page, which has at most ${PAGE}` })
  @Type(() => Number)
  page_size?: number;
}

/** Query of `GET /api/v2/threads/{thread_id}/stats`. */
export class ThreadStatsQuery {
  @Uuid({ required: true, about: 'Tracing project of the thread' })
  session_id: string;

  @TextList({
    required: true,
    minSize: 1,
    maxSize: THREAD_TOTALS.length,
    choices: THREAD_TOTALS,
    about: 'What to answer',
  })
  @Transform(many)
  selects: string[];

  @FilterText('Condition on the roots of the traces')
  filter?: string;
}
