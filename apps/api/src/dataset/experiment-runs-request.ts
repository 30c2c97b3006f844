import { Flag, FreeObject, TextList, Uuid, Whole } from '../wire/fields.js';

const MOST_EXPERIMENTS = 10;
const PAGE = 100;

/** Body of `POST /datasets/{dataset_id}/runs`. */
export class ExperimentRunsRequest {
  @TextList({
    ...{ required: true, minSize: 1, maxSize: MOST_EXPERIMENTS },
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
