import { Transform } from 'class-transformer';
import { QueryFlag, QueryWhole } from '../wire/query-flag.js';
import { TRACE_TIERS } from '#lib/trace-store';
import { Choice, FreeObject, Text, TextList, Time, Uuid, Whole } from '../wire/fields.js';

/** Body of `POST /sessions`. Fields of clients that have no meaning here are taken and not kept. */
export class CreateSessionRequest {
  @Text({
    required: true,
    minLength: 1,
    maxLength: 512,
    about: 'Name of the project, unique in the workspace',
  })
  name: string;

  @Uuid({ about: 'Id of the project; chosen by the server when absent' })
  id?: string | null;

  @Text({ about: 'Description for people' })
  description?: string | null;

  // a list answers a hundred of them
  @FreeObject({ maxBytes: 65_536, about: 'Anything up to 64 KiB; answered as it came' })
  extra?: Record<string, unknown> | null;

  @Time({ about: 'When it began; answered as it came, else when it was made' })
  start_time?: string | null;

  @Time({ about: 'When it was completed' })
  end_time?: string | null;

  @Uuid()
  default_dataset_id?: string | null;

  @Uuid({ about: 'Makes it an experiment on this dataset; an upsert does not change it' })
  reference_dataset_id?: string | null;

  @Whole({ min: 0, about: 'Of an experiment, for its progress; taken and without effect' })
  num_examples?: number | null;

  @Whole({ min: 0, about: 'The same' })
  num_repetitions?: number | null;

  @TextList({ about: 'The same: keys of the feedback that its evaluators give' })
  evaluator_keys?: string[] | null;

  @Choice(TRACE_TIERS, {
    about: 'How long new traces of the project are kept; by default as the workspace says',
  })
  trace_tier?: string | null;
}

/** Body of `PATCH /sessions/{id}`. Clients send null for members that stay as they are. */
export class UpdateSessionRequest {
  @Text({ minLength: 1, maxLength: 512, about: 'New name; runs that name the old one make a project again' })
  name?: string | null;

  @Text({ about: 'Description for people' })
  description?: string | null;

  @FreeObject({ maxBytes: 65_536, about: 'Replaces the stored extra; up to 64 KiB' })
  extra?: Record<string, unknown> | null;

  @Time({ about: 'When it was completed' })
  end_time?: string | null;

  @Choice(TRACE_TIERS, {
    about: 'How long new traces of the project are kept; by default as the workspace says',
  })
  trace_tier?: string | null;

  @Uuid({ about: 'Taken and without effect: examples are added to the dataset that a request names' })
  default_dataset_id?: string | null;
}

function asList(value: unknown): unknown {
  return typeof value === 'string' ? value.split(',') : value;
}

/** Additions to projects in the answer. */
export class SessionQuery {
  @QueryFlag({ about: 'Adds what the traces of the project add up to' })
  include_stats?: boolean;

  @Time({ about: 'Statistics of runs that began then or later; of all when absent' })
  stats_start_time?: string;
}

/** Query of `GET /sessions/{id}`. */
export class OneSessionQuery extends SessionQuery {
  @QueryWhole({
    min: 1,
    max: 100,
    about: 'Taken and without effect: the Python client sends it with every project',
  })
  limit?: number;
}

/** Query of `POST /sessions`. */
export class CreateSessionQuery {
  @QueryFlag({
    about:
      'Changes the project of that name when there is one: description, extra, times and tier as far as they are given',
  })
  upsert?: boolean;
}

/** Query of `GET /sessions`: the parameters that the LangSmith clients send. */
export class SessionsQuery extends SessionQuery {
  @Text({ maxLength: 512, about: 'Exact name' })
  name?: string;

  @Text({ maxLength: 512, about: 'Part of the name, any case' })
  name_contains?: string;

  @TextList({ maxSize: 100, about: 'Ids' })
  @Transform(({ value }) => asList(value))
  id?: string[];

  @Text({ maxLength: 10_000, about: 'JSON object that must be a part of extra.metadata' })
  metadata?: string;

  @QueryFlag({ about: 'Whether to leave out experiments, or to list them alone' })
  reference_free?: boolean;

  @TextList({ maxSize: 100, about: 'Ids: experiments on one of these datasets' })
  @Transform(({ value }) => asList(value))
  reference_dataset?: string[];

  @Text({ maxLength: 128, about: 'Of the dataset: experiments whose metadata have it as dataset_version' })
  dataset_version?: string;

  @QueryWhole({ min: 1, max: 100, fallback: 100, about: 'Most items to answer' })
  limit: number = 100;

  @QueryWhole({ min: 0, max: 2_147_483_647, fallback: 0, about: 'Items to skip' })
  offset: number = 0;
}
