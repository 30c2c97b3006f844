import { MendedMemberAnswer, RunAnswer } from '../trace/run-answer.js';
import { RunV2Answer } from '../trace/runs-query-answer.js';
import {
  Answered,
  JSON_VALUE,
  listOf,
  orNull,
  Perhaps,
  TEXT,
  textList,
  TIME,
  UUID,
  WHOLE,
} from '../wire/shape.js';

/** An example on the wire. */
export class ExampleAnswer {
  @Answered(UUID) readonly id: string;
  @Perhaps(UUID) readonly dataset_id?: string;
  @Perhaps(orNull(TEXT)) readonly name?: null;
  @Perhaps(TIME) readonly created_at?: string;
  @Perhaps(TIME, 'Time of the version from which it is as it is') readonly modified_at?: string;
  @Perhaps(orNull(UUID)) readonly source_run_id?: string | null;
  @Perhaps(JSON_VALUE, 'With the splits that it is in, as dataset_split') readonly metadata?: unknown;
  @Perhaps(JSON_VALUE) readonly inputs?: unknown;
  @Perhaps(JSON_VALUE) readonly outputs?: unknown;
  @Perhaps(
    JSON_VALUE,
    'By attachment.NAME: presigned_url, which opens for an hour, s3_url and mime_type; null without attachments',
  )
  readonly attachment_urls?: unknown;
}

/** An example with the runs of experiments on it. */
export class ExampleWithRunsAnswer extends ExampleAnswer {
  @Answered(listOf(() => RunAnswer), 'Roots that name the example, oldest first')
  readonly runs: readonly RunAnswer[];
}

/** The same with selected fields of the runs. */
export class ExampleWithSelectedRunsAnswer extends ExampleAnswer {
  @Answered(listOf(() => RunV2Answer), 'Roots that name the example, oldest first')
  readonly runs: readonly RunV2Answer[];
}

export class ExperimentRunsPageAnswer {
  @Answered(listOf(() => ExampleWithSelectedRunsAnswer), 'In the order in which the examples were made')
  readonly items: readonly ExampleWithSelectedRunsAnswer[];
  @Answered(orNull(TEXT), 'cursor of the next page; null when there is none') readonly next_cursor:
    string | null;
}

/** Result of an upload of examples: one version of their dataset. */
export class WrittenExamplesAnswer {
  @Answered(WHOLE) readonly count: number;
  @Answered(textList('uuid'), 'In the order in which they were sent') readonly example_ids: readonly string[];
  @Answered(TIME, 'The version') readonly as_of: string;
  @Perhaps(
    listOf(() => MendedMemberAnswer),
    'Members that were changed so that their examples could be stored; absent when there is none',
  )
  readonly mended?: readonly MendedMemberAnswer[];
}
