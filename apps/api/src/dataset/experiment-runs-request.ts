import { Flag, FreeObject, Text, TextList, Uuid, Whole } from '../wire/fields.js';
import { SELECTS } from '../trace/run-fields-v2.js';
import { MOST_NAMED } from './dataset-request.js';

const MOST_EXPERIMENTS = 10;
const PAGE = 100;
const USUAL_PAGE = 20;

/** Body of `POST /datasets/{dataset_id}/runs`. */
export class ExperimentRunsRequest {
  @TextList({
    required: true,
    minSize: 1,
    maxSize: MOST_EXPERIMENTS,
    about: 'Ids of experiments of the dataset',
  })
  session_ids: string[];

  @Whole({ min: 1, max: PAGE, fallback: PAGE, about: 'Most examples' })
  limit?: number | null;

  @Whole({ min: 0, max: 2_147_483_647, fallback: 0, about: 'Examples to skip' })
  offset?: number | null;

  @FreeObject({ about: 'By the id of an experiment: filters that its runs meet, all of them' })
  filters?: object | null;

  @Flag({ about: 'Taken and without effect: inputs and outputs are always whole' })
  preview?: boolean | null;

  @Uuid({ about: 'Not supported: comparisons of experiments are not kept' })
  comparative_experiment_id?: string | null;
}

/** Body of `POST /api/v2/datasets/{dataset_id}/experiment-runs`. */
export class ExperimentRunsPageRequest {
  @TextList({
    required: true,
    minSize: 1,
    maxSize: MOST_EXPERIMENTS,
    about: 'Ids of experiments of the dataset',
  })
  experiment_ids: string[];

  @TextList({ maxSize: MOST_NAMED, about: 'Ids of examples; all of the dataset without them' })
  example_ids?: string[] | null;

  @FreeObject({ about: 'By the id of an experiment: filters that its runs meet, all of them' })
  filters?: object | null;

  @TextList({
    maxSize: SELECTS.size,
    choices: [...SELECTS.keys()],
    about: 'Fields of the runs to answer; ID alone when absent',
  })
  selects?: string[] | null;

  @Text({ maxLength: 200, about: 'next_cursor of the page before' })
  cursor?: string | null;

  @Whole({ min: 1, max: PAGE, fallback: USUAL_PAGE, about: 'Most examples of a page' })
  page_size?: number | null;

  @FreeObject({ about: 'Not supported: examples come in the order in which they were made' })
  sort?: object | null;

  @Uuid({ about: 'Not supported: comparisons of experiments are not kept' })
  comparative_experiment_id?: string | null;
}
