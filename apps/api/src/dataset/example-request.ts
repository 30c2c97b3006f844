import { Transform, Type } from 'class-transformer';
import { QueryFlag } from '../wire/query-flag.js';
import { Flag, Text, TextList, Uuid, Whole } from '../wire/fields.js';
import { asList, JSON_VALUE, Perhaps } from '../wire/shape.js';
import { AsOfQuery, MOST_NAMED } from './dataset-request.js';
import { EXAMPLE_FIELDS } from './render-example.js';

/** Query of `GET /examples`: the parameters that the LangSmith clients send. */
export class ExamplesQuery extends AsOfQuery {
  @Uuid({ about: 'The dataset; without it examples are found by their ids' })
  dataset?: string;

  @TextList({ maxSize: MOST_NAMED, about: 'Ids' })
  @Transform(asList)
  id?: string[];

  @TextList({ maxSize: 100, maxLength: 255, about: 'In one of these splits' })
  @Transform(asList)
  splits?: string[];

  @Text({ maxLength: 10_000, about: 'JSON object that must be a part of the metadata' })
  metadata?: string;

  @Text({ maxLength: 10_000, about: 'Not supported: use metadata, splits and id' })
  filter?: string;

  @TextList({
    maxSize: EXAMPLE_FIELDS.length,
    choices: EXAMPLE_FIELDS,
    about: 'Fields beside the usual ones; all when absent',
  })
  @Transform(asList)
  select?: string[];

  @QueryFlag({ about: 'Answers id and what select names alone' })
  exclude_default_fields?: boolean;

  @QueryFlag({ about: 'Taken and without effect: payloads are always a part of the answer' })
  inline_s3_urls?: boolean;

  @Whole({ min: 1, max: 100, fallback: 100, about: 'Most items to answer' })
  @Type(() => Number)
  limit: number = 100;

  @Whole({ min: 0, max: 2_147_483_647, fallback: 0, about: 'Items to skip' })
  @Type(() => Number)
  offset: number = 0;
}

/** Query of `DELETE /examples`. */
export class DeleteExamplesQuery {
  @TextList({ required: true, minSize: 1, maxSize: MOST_NAMED, about: 'Ids' })
  @Transform(asList)
  example_ids: string[];
}

/** Body of `POST /v1/platform/datasets/examples/delete`. */
export class DeleteExamplesRequest {
  @TextList({ required: true, minSize: 1, maxSize: MOST_NAMED, about: 'Ids' })
  example_ids: string[];

  @Flag({ about: 'Removes all versions of them; else versions from before keep them' })
  hard_delete?: boolean | null;
}

/** Parts are named by the id of the example that they are of. */
export class ExampleMultipartRequest {
  @Perhaps(
    JSON_VALUE,
    'metadata, split, created_at and source_run_id of an example; ID in the name is its id',
  )
  readonly ID?: unknown;
  @Perhaps(JSON_VALUE, 'Its inputs, an object') readonly 'ID.inputs'?: unknown;
  @Perhaps(JSON_VALUE, 'Its outputs, an object') readonly 'ID.outputs'?: unknown;
  @Perhaps(JSON_VALUE, 'The bytes of an attachment; NAME in the name is its name')
  readonly 'ID.attachment.NAME'?: unknown;
  @Perhaps(
    JSON_VALUE,
    'In changes: {"rename": {"OLD": "NEW"}, "retain": ["NAME"]}, the attachments that stay; all of them without it',
  )
  readonly 'ID.attachments_operations'?: unknown;
}
