import { formatInstant } from '#lib/time';
import type { ExamplePayload, ExampleRow } from '#lib/trace-store';
import { Transform } from 'class-transformer';
import type { AttachmentLinks } from '../attachment/attachment-urls.js';
import { MendedMemberAnswer } from '../trace/run-answer.js';
import { RunAnswer, RunV2Answer } from '../trace/run-fields.js';
import { Flag, Text, TextList, Uuid } from '../wire/fields.js';
import { QueryFlag, QueryWhole } from '../wire/query-flag.js';
import {
  Answered,
  asList,
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
import { AsOfQuery, MOST_NAMED } from './dataset-request.js';

/** Payloads and links, which a row does not have itself. */
type Payloads = Readonly<Partial<Record<ExamplePayload, Buffer>>> & {
  readonly links?: AttachmentLinks | undefined;
};
type Field = (row: ExampleRow, payloads: Payloads) => Buffer | string | null | undefined;

const CLOSE_OBJECT = 0x7d;

const text = (value: string | null | undefined): string => JSON.stringify(value ?? null);

/** JSON text of each field, in the order of the answer; payloads are the bytes that came. */
const FIELDS: Readonly<Record<string, Field>> = {
  id: ({ id }) => text(id),
  dataset_id: ({ datasetId }) => text(datasetId),
  name: () => null,
  created_at: ({ createdAt }) => text(formatInstant(createdAt)),
  modified_at: ({ since }) => text(formatInstant(since)),
  source_run_id: ({ sourceRunId }) => text(sourceRunId),
  metadata: ({ splits }, { metadata }) => withSplits(splits, metadata),
  inputs: (_row, { inputs }) => inputs,
  outputs: (_row, { outputs }) => outputs,
  attachment_urls: (_row, { links }) => links && linksText(links),
};

function linksText(links: AttachmentLinks): string {
  return JSON.stringify(Object.fromEntries([...links].map(([name, url]) => [`attachment.${name}`, url])));
}

/** Every name that `select` may have. */
const EXAMPLE_FIELDS = Object.keys(FIELDS);

const PAYLOADS: readonly ExamplePayload[] = ['metadata', 'inputs', 'outputs'];

/** Fields that are answered regardless of `select`, unless they are excluded. */
const USUAL = ['id', 'dataset_id', 'name', 'created_at', 'modified_at', 'inputs'];

/** Names of the fields that are answered. */
export function selectedFields(select: readonly string[] | undefined, isExact: boolean): readonly string[] {
  if (!select && !isExact) return EXAMPLE_FIELDS;
  const wanted = new Set(['id', ...(isExact ? [] : USUAL), ...(select ?? [])]);
  return EXAMPLE_FIELDS.filter((name) => wanted.has(name));
}

export function payloadsOf(fields: readonly string[]): readonly ExamplePayload[] {
  return PAYLOADS.filter((name) => fields.includes(name));
}

/** An example on the wire. */
export function renderExample(row: ExampleRow, payloads: Payloads, fields: readonly string[]): Buffer {
  const parts = fields.flatMap((name, at) => [
    Buffer.from(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    asBytes(FIELDS[name]?.(row, payloads)),
  ]);
  return Buffer.concat([...parts, Buffer.from('}')]);
}

function asBytes(json: Buffer | string | null | undefined): Buffer {
  return Buffer.isBuffer(json) ? json : Buffer.from(json ?? 'null');
}

/** The splits are put into the stored object, whose bytes stay as they came. */
function withSplits(splits: readonly string[], metadata: Buffer | undefined): Buffer {
  const member = `{"dataset_split":${JSON.stringify(splits)}`;
  const rest = metadata?.subarray(metadata.indexOf('{') + 1);
  const first = rest?.find((byte) => byte > 0x20);
  if (!rest || first === CLOSE_OBJECT) return Buffer.from(`${member}}`);
  return Buffer.concat([Buffer.from(`${member},`), rest]);
}

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
class ExampleWithSelectedRunsAnswer extends ExampleAnswer {
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

  @QueryWhole({ min: 1, max: 100, fallback: 100, about: 'Most items to answer' })
  limit: number = 100;

  @QueryWhole({ min: 0, max: 2_147_483_647, fallback: 0, about: 'Items to skip' })
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
