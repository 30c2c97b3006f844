import {
  Answered,
  FLAG,
  JSON_VALUE,
  orNull,
  TEXT,
  textList,
  TIME,
  UUID,
  WHOLE,
  words,
} from '../wire/shape.js';
import { DATA_TYPES } from '#lib/trace-store';

/** A dataset on the wire. */
export class DatasetAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT) readonly name: string;
  @Answered(orNull(TEXT)) readonly description: string | null;
  @Answered(words(DATA_TYPES)) readonly data_type: string;
  @Answered(JSON_VALUE) readonly inputs_schema_definition: unknown;
  @Answered(JSON_VALUE) readonly outputs_schema_definition: unknown;
  @Answered(JSON_VALUE) readonly metadata: unknown;
  @Answered(TIME) readonly created_at: string;
  @Answered(TIME, 'When it or one of its examples was changed') readonly modified_at: string;
  @Answered(WHOLE) readonly example_count: number;
  @Answered(WHOLE, 'Experiments') readonly session_count: number;
  @Answered(orNull(TIME), 'Of its experiments') readonly last_session_start_time: string | null;
  @Answered(FLAG) readonly externally_managed: boolean;
  @Answered(JSON_VALUE) readonly transformations: null;
}

export class DatasetVersionAnswer {
  @Answered(TIME) readonly as_of: string;
  @Answered(textList(), '`latest` among them for the newest one') readonly tags: readonly string[];
}

/** Ids of examples. */
export class DifferenceAnswer {
  @Answered(textList('uuid')) readonly examples_modified: readonly string[];
  @Answered(textList('uuid')) readonly examples_added: readonly string[];
  @Answered(textList('uuid')) readonly examples_removed: readonly string[];
}
