import {
  Answered,
  FLAG,
  listOf,
  object,
  orNull,
  Perhaps,
  type Shape,
  TEXT,
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
