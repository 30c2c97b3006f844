import { Answered, FLAG, object, orNull, Perhaps, TEXT, TIME, WHOLE } from '../wire/shape.js';

export class OkAnswer {
  @Answered(FLAG) readonly ok: boolean;
  @Perhaps(TEXT, 'What keeps the platform from storing anything at present; requests that only read work')
  readonly detail?: string;
}

export class BatchIngestConfigAnswer {
  @Answered(FLAG) readonly use_multipart_endpoint: boolean;
  @Answered(WHOLE) readonly scale_up_qsize_trigger: number;
  @Answered(WHOLE) readonly scale_up_nthreads_limit: number;
  @Answered(WHOLE) readonly scale_down_nempty_trigger: number;
  @Answered(WHOLE) readonly size_limit: number;
  @Answered(WHOLE) readonly size_limit_bytes: number;
}

export class InstanceFlagsAnswer {
  @Answered(FLAG) readonly gzip_body_enabled: boolean;
  @Answered(FLAG) readonly zstd_compression_enabled: boolean;
  @Answered(FLAG) readonly ch_query_enabled: boolean;
  @Answered(FLAG) readonly sdb_query_enabled: boolean;
  @Answered(FLAG) readonly dataset_examples_multipart_enabled: boolean;
}

/** Capabilities of this server for clients. */
export class InfoAnswer {
  @Answered(TEXT, 'Version of the wire') readonly version: string;
  @Answered(orNull(TEXT)) readonly git_sha: string | null;
  @Answered(orNull(TIME)) readonly license_expiration_time: string | null;
  @Answered(object(() => BatchIngestConfigAnswer)) readonly batch_ingest_config: BatchIngestConfigAnswer;
  @Answered(object(() => InstanceFlagsAnswer)) readonly instance_flags: InstanceFlagsAnswer;
}
