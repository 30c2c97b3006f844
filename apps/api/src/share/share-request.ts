import { SELECTABLE } from '../trace/render-run.js';
import { Text, TextList, Uuid, Whole } from '../wire/fields.js';

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
