import { Transform } from 'class-transformer';
import { SELECTABLE, SELECTS } from '../trace/run-fields.js';
import { Text, TextList, Time, Uuid, Whole } from '../wire/fields.js';
import { Answered, Perhaps, UUID } from '../wire/shape.js';

export class ShareAnswer {
  @Perhaps(UUID, 'Opens the trace of the run at /public/{share_token}/r for anyone; absent while not shared')
  readonly share_token?: string;
  @Perhaps(UUID) readonly run_id?: string;
}

/** A share in the second API. */
export class SelectedShareAnswer {
  @Answered(UUID, 'Opens the trace of the run at /public/{share_token}/r for anyone')
  readonly share_token: string;
}

const MOST_NAMED = 1_000;
const PAGE = 100;
const MOST = 2_147_483_647;

/** Body of `PUT /runs/{run_id}/share`. */
export class ShareRequest {
  @Uuid({ about: 'The run; the clients send it beside the address' })
  run_id?: string | null;

  @Uuid({ about: 'Taken and without effect: the server makes tokens, so that none can be guessed' })
  share_token?: string | null;
}

/** Body of `POST /public/{share_token}/runs/query`. */
export class SharedRunsRequest {
  @TextList({ maxSize: MOST_NAMED, maxLength: 36, about: 'Ids of runs; all of the trace when absent' })
  id?: string[] | null;

  @TextList({
    maxSize: SELECTABLE.size,
    choices: [...SELECTABLE.keys()],
    about: 'Fields to answer; all but serialized when absent',
  })
  select?: string[] | null;

  @Whole({
    min: 1,
    max: MOST,
    fallback: PAGE,
    about: `Most runs; a page has at most ${PAGE}, the cursor leads to more`,
  })
  limit?: number | null;

  @Text({ maxLength: 200, about: 'cursors.next of the page before' })
  cursor?: string | null;
}

/** Query of `GET /public/{share_token}/r`. */
export class SharedPageQuery {
  @Text({ maxLength: 200, about: 'Of the link to the next runs' })
  cursor?: string;
}

/** Body of `DELETE /api/v2/runs/{run_id}/share`. */
export class UnshareRequest {
  @Uuid({
    about: 'The project of the trace; where the run stands in traces of several, only that one is meant',
  })
  session_id?: string | null;
}

/** Body of `POST /api/v2/runs/{run_id}/share`. */
export class SelectedShareRequest extends UnshareRequest {
  @Uuid({ about: 'The trace, where the run stands in several' })
  trace_id?: string | null;
}

function asList({ value }: { readonly value: unknown }): unknown {
  return typeof value === 'string' ? value.split(',') : value;
}

/** Body of `POST /api/v2/public/{share_token}/runs/query`. */
export class SelectedSharedRunsRequest {
  @TextList({
    maxSize: SELECTS.size,
    choices: [...SELECTS.keys()],
    about: 'Fields to answer; ID alone when absent',
  })
  @Transform(asList)
  selects?: string[] | null;
}

/** Query of `GET /api/v2/public/{share_token}/run/{run_id}`. */
export class SharedRunQuery extends SelectedSharedRunsRequest {
  @Time({ about: 'Taken and without effect: a run is found by its id' })
  start_time?: string;
}
