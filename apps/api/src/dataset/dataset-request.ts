import { Transform } from 'class-transformer';
import { DATA_TYPES, type DataType } from '#lib/trace-store';
import { Choice, Flag, FreeObject, FreeObjectList, Text, TextList, Time, Uuid } from '../wire/fields.js';
import { HundredsQuery, QueryWhole } from '../wire/query-flag.js';
import { asList } from '../wire/shape.js';

/** Maximum size of metadata and of a schema: a list answers a hundred datasets. */
const MAX_OBJECT_BYTES = 65_536;
/** Ids of one request. */
export const MOST_NAMED = 1_000;
const MOST_MOVED = 10_000;

/** Body of `POST /datasets`. */
export class CreateDatasetRequest {
  @Text({
    required: true,
    minLength: 1,
    maxLength: 512,
    isUnicode: true,
    about: 'Name of the dataset, unique in the workspace',
  })
  name: string;

  @Uuid({ about: 'Id of the dataset; chosen by the server when absent' })
  id?: string | null;

  @Text({ about: 'Description for people' })
  description?: string | null;

  @Choice(DATA_TYPES, { about: 'What its examples hold, for those who show them; kv when absent' })
  data_type?: DataType | null;

  @FreeObject({ maxBytes: MAX_OBJECT_BYTES, about: 'Its metadata are kept, up to 64 KiB' })
  extra?: Record<string, unknown> | null;

  @FreeObject({
    maxBytes: MAX_OBJECT_BYTES,
    about: 'JSON schema of the inputs; kept and answered, examples are not checked against it',
  })
  inputs_schema_definition?: Record<string, unknown> | null;

  @FreeObject({ maxBytes: MAX_OBJECT_BYTES, about: 'JSON schema of the outputs; the same' })
  outputs_schema_definition?: Record<string, unknown> | null;

  @FreeObjectList({ maxSize: 0, about: 'Not supported: null or empty' })
  transformations?: readonly object[] | null;

  @Time({ about: 'Ignored: clients before 0.3 send when they asked' })
  created_at?: string | null;
}

/** Body of `PATCH /datasets/{id}`. Null or absent members stay as they are. */
export class UpdateDatasetRequest {
  @Text({ minLength: 1, maxLength: 512, isUnicode: true })
  name?: string | null;

  @Text({ about: 'Description for people' })
  description?: string | null;

  @FreeObject({ maxBytes: MAX_OBJECT_BYTES, about: 'Replaces the metadata' })
  metadata?: Record<string, unknown> | null;

  @FreeObject({ maxBytes: MAX_OBJECT_BYTES })
  inputs_schema_definition?: Record<string, unknown> | null;

  @FreeObject({ maxBytes: MAX_OBJECT_BYTES })
  outputs_schema_definition?: Record<string, unknown> | null;
}

/** Query of `GET /datasets`. */
export class DatasetsQuery extends HundredsQuery {
  @TextList({ maxSize: MOST_NAMED, about: 'Ids' })
  @Transform(asList)
  id?: string[];

  @Text({ maxLength: 512, about: 'Exact name' })
  name?: string;

  @Text({ maxLength: 512, about: 'Part of the name, any case' })
  name_contains?: string;

  @TextList({ maxSize: DATA_TYPES.length, choices: DATA_TYPES, about: 'One of these types' })
  @Transform(asList)
  data_type?: DataType[];

  @Text({ maxLength: 10_000, about: 'JSON object that must be a part of the metadata' })
  metadata?: string;
}

/** Query of `GET /datasets/{id}`: clients ask for one and for a list alike. */
export class DatasetQuery {
  @QueryWhole({ min: 1, about: 'Taken and without effect' })
  limit?: number;
}

/** Query of `GET /datasets/{id}/versions`. */
export class VersionsQuery extends HundredsQuery {
  @Text({ maxLength: 255, about: 'Part of a tag, any case' })
  search?: string;
}

/** Query of `GET /datasets/{id}/version`: one of them. */
export class VersionQuery {
  @Time({ about: 'The newest version at this time' })
  as_of?: string;

  @Text({ minLength: 1, maxLength: 255, about: 'The version that has this tag; `latest` is the newest' })
  tag?: string;
}

/** Body of `PUT /datasets/{id}/tags`. */
export class TagRequest {
  @Time({ required: true, about: 'The newest version at this time gets the tag' })
  as_of: string;

  @Text({ required: true, minLength: 1, maxLength: 255, isUnicode: true })
  tag: string;
}

/** Query of `GET /datasets/{id}/versions/diff`: times or tags. */
export class DifferenceQuery {
  @Text({ required: true, minLength: 1, maxLength: 255 })
  from_version: string;

  @Text({ required: true, minLength: 1, maxLength: 255 })
  to_version: string;
}

/** Query of `GET /datasets/{id}/splits`, and of `GET /examples/{id}`. */
export class AsOfQuery {
  @Text({ minLength: 1, maxLength: 255, about: 'Time or tag of a version; the newest one when absent' })
  as_of?: string;
}

/** Body of `PUT /datasets/{id}/splits`. */
export class SplitRequest {
  @Text({ required: true, minLength: 1, maxLength: 255, isUnicode: true })
  split_name: string;

  @TextList({ required: true, minSize: 1, maxSize: MOST_MOVED, about: 'Ids' })
  examples: string[];

  @Flag({ about: 'Takes them out of the split instead of putting them in' })
  remove?: boolean | null;
}
