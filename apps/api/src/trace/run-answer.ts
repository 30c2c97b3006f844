import {
  Answered,
  FLAG,
  JSON_VALUE,
  listOf,
  NUMBER,
  object,
  orNull,
  Perhaps,
  type Shape,
  TEXT,
  textList,
  textMap,
  TIME,
  UUID,
  WHOLE,
  words,
} from '../wire/shape.js';

export class StoredAnswer {
  @Answered(TEXT) readonly message: string;
}

/** A list of names and positions. */
const LOCATION: Shape = { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } };

export class MendedMemberAnswer {
  @Answered(LOCATION, 'Where it is, as in refusals') readonly loc: readonly (string | number)[];
  @Answered(TEXT, 'What was done, for people') readonly msg: string;
  @Answered(TEXT, 'Stable word for the kind of mistake') readonly type: string;
}

export class StoredRunsAnswer extends StoredAnswer {
  @Perhaps(
    listOf(() => MendedMemberAnswer),
    'At most 100 members that were changed or left out, so that their runs could be stored; absent when there is none',
  )
  readonly mended?: readonly MendedMemberAnswer[];
}

export class ErasedAnswer {
  @Answered(WHOLE, 'Runs that were deleted; none that were deleted before') readonly deleted_runs: number;
}

export class NotKeptAnswer {
  @Answered(WHOLE) readonly attachments: number;
}

export class StoredPartsAnswer extends StoredRunsAnswer {
  @Perhaps(
    object(() => NotKeptAnswer),
    'How many parts were taken and not kept: attachments, which mended names with the reason',
  )
  readonly not_kept?: NotKeptAnswer;
}

const RUN_SHAPES: Readonly<Record<string, readonly [shape: Shape, about?: string]>> = {
  id: [UUID],
  name: [TEXT],
  run_type: [TEXT],
  status: [words(['pending', 'success', 'error', 'interrupted'])],
  trace_id: [UUID],
  session_id: [UUID, 'Id of the tracing project'],
  dotted_order: [TEXT],
  parent_run_id: [orNull(UUID)],
  parent_run_ids: [textList('uuid'), 'From the root down'],
  parent_missing: [FLAG, 'It stands for the root of its trace: its parent was not received in the project'],
  child_run_ids: [orNull(textList('uuid'))],
  direct_child_run_ids: [orNull(textList('uuid'))],
  start_time: [TIME],
  end_time: [orNull(TIME)],
  latency: [orNull(NUMBER), 'Seconds; null while it lasts'],
  first_token_time: [orNull(TIME)],
  error: [orNull(TEXT)],
  tags: [textList()],
  total_tokens: [WHOLE],
  prompt_tokens: [WHOLE],
  completion_tokens: [WHOLE],
  total_cost: [orNull(TEXT), 'Decimal'],
  prompt_cost: [orNull(TEXT), 'Decimal'],
  completion_cost: [orNull(TEXT), 'Decimal'],
  prompt_token_details: [orNull({ type: 'object', additionalProperties: WHOLE }), 'Tokens by kind'],
  completion_token_details: [orNull({ type: 'object', additionalProperties: WHOLE }), 'Likewise'],
  prompt_cost_details: [orNull(textMap()), 'Decimals by kind of tokens'],
  completion_cost_details: [orNull(textMap()), 'Likewise'],
  price_model_id: [
    orNull(UUID),
    'The row of the price table that its costs are from; null for those that its sender gave',
  ],
  feedback_stats: [
    JSON_VALUE,
    'By key: n, avg, stdev, min, max and errors; values with the 20 most frequent texts, samples of comments and sources',
  ],
  reference_example_id: [orNull(UUID)],
  trace_tier: [orNull(TEXT)],
  thread_id: [orNull(TEXT)],
  execution_order: [WHOLE],
  in_dataset: [FLAG],
  share_token: [orNull(TEXT)],
  manifest_id: [orNull(UUID)],
  app_path: [TEXT],
  inputs: [JSON_VALUE],
  outputs: [JSON_VALUE],
  extra: [JSON_VALUE],
  events: [JSON_VALUE],
  serialized: [JSON_VALUE],
  s3_urls: [
    JSON_VALUE,
    'Attachments by attachment.NAME: presigned_url opens without a key for an hour, mime_type; null without any',
  ],
};

function describe(type: new () => object, field: typeof Answered): void {
  for (const [name, [shape, about]] of Object.entries(RUN_SHAPES))
    field(shape, about)(type.prototype as object, name);
}

/** A run on the wire, whole. */
/** The row of the price table that the costs of a run are from. */
class UsedPriceAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(TEXT) readonly name: string;
  @Answered(TEXT, 'RE2') readonly match_pattern: string;
  @Answered(TEXT, 'Dollars for a token, a decimal') readonly prompt_cost: string;
  @Answered(TEXT, 'Dollars for a token, a decimal') readonly completion_cost: string;
  @Answered(FLAG, 'Whether the platform brings it') readonly built_in: boolean;
}

/** Origin of the tokens and costs of a run. */
export class UsageSourceAnswer {
  @Answered(
    orNull(TEXT),
    'Path of the member that stated them, `run` for members of the run itself, `calls_below` for a sum; null without tokens',
  )
  readonly tokens: string | null;
  @Answered(
    orNull(words(['sender', 'price', 'calls_below'])),
    'Stated by the sender, made by the price, or a sum; null without costs',
  )
  readonly costs: string | null;
  @Answered(orNull(TEXT), 'The model that is priced') readonly model: string | null;
  @Answered(orNull(TEXT), 'Member that names the model; null for ls_model_name') readonly model_member:
    string | null;
  @Answered(orNull(TEXT)) readonly provider: string | null;
  @Answered(orNull(object(() => UsedPriceAnswer)), 'As it is now; null without one, or when it was deleted')
  readonly price: UsedPriceAnswer | null;
}

export class RunAnswer {
  @Perhaps(object(() => UsageSourceAnswer), 'With explain_usage') readonly usage_source?: UsageSourceAnswer;
}
describe(RunAnswer, Answered);

/** A run on the wire with the fields that were selected. */
export class SelectedRunAnswer {}
describe(SelectedRunAnswer, Perhaps);
