import { findDiskTrouble } from '#lib/data-folder';
import { Inject } from '@nestjs/common';
import type { ApiConfig } from '../config.js';
import { API_CONFIG } from '../core/tokens.js';
import { Resource } from '../wire/operation.js';
import { Get } from '../wire/route.js';
import { publicly } from '../wire/route-access.js';
import { Answered, FLAG, object, orNull, Perhaps, TEXT, TIME, WHOLE } from '../wire/shape.js';

class OkAnswer {
  @Answered(FLAG) readonly ok: boolean;
  @Perhaps(TEXT, 'What keeps the platform from storing anything at present; requests that only read work')
  readonly detail?: string;
}

class BatchIngestConfigAnswer {
  @Answered(FLAG) readonly use_multipart_endpoint: boolean;
  @Answered(WHOLE) readonly scale_up_qsize_trigger: number;
  @Answered(WHOLE) readonly scale_up_nthreads_limit: number;
  @Answered(WHOLE) readonly scale_down_nempty_trigger: number;
  @Answered(WHOLE) readonly size_limit: number;
  @Answered(WHOLE) readonly size_limit_bytes: number;
}

class InstanceFlagsAnswer {
  @Answered(FLAG) readonly gzip_body_enabled: boolean;
  @Answered(FLAG) readonly zstd_compression_enabled: boolean;
  @Answered(FLAG) readonly ch_query_enabled: boolean;
  @Answered(FLAG) readonly sdb_query_enabled: boolean;
  @Answered(FLAG) readonly dataset_examples_multipart_enabled: boolean;
}

/** Capabilities of this server for clients. */
class InfoAnswer {
  @Answered(TEXT, 'Version of the wire') readonly version: string;
  @Answered(orNull(TEXT)) readonly git_sha: string | null;
  @Answered(orNull(TIME)) readonly license_expiration_time: string | null;
  @Answered(object(() => BatchIngestConfigAnswer)) readonly batch_ingest_config: BatchIngestConfigAnswer;
  @Answered(object(() => InstanceFlagsAnswer)) readonly instance_flags: InstanceFlagsAnswer;
}

/** The version of the wire that is spoken; clients compare it to know what they may use. */
const WIRE_VERSION = '0.18.0';

const INFO: InfoAnswer = {
  version: WIRE_VERSION,
  git_sha: null,
  license_expiration_time: null,
  batch_ingest_config: {
    use_multipart_endpoint: true,
    scale_up_qsize_trigger: 1000,
    scale_up_nthreads_limit: 16,
    scale_down_nempty_trigger: 4,
    size_limit: 100,
    size_limit_bytes: 20_971_520,
  },
  instance_flags: {
    gzip_body_enabled: true,
    zstd_compression_enabled: true,
    ch_query_enabled: false,
    sdb_query_enabled: false,
    dataset_examples_multipart_enabled: true,
  },
};

/** Capabilities of this server for clients. */
@Resource('Info')
export class InfoController {
  readonly #dataFolder: string | undefined;

  constructor(@Inject(API_CONFIG) { dataFolder }: Pick<ApiConfig, 'dataFolder'>) {
    this.#dataFolder = dataFolder;
  }

  @Get('ok', publicly('probes ask whether the api serves', { isForAll: true }), {
    summary: 'Whether the api works',
    answer: OkAnswer,
  })
  ok(): OkAnswer {
    // still 200: a platform whose disk is full must stay available to readers
    const detail = this.#dataFolder === undefined ? undefined : findDiskTrouble(this.#dataFolder);
    return { ok: true, ...(detail === undefined ? {} : { detail }) };
  }

  @Get(
    ['info', 'api/v1/info'],
    publicly('clients ask for the version before they have a key', { isForAll: true }),
    { summary: 'What clients may expect', answer: InfoAnswer },
  )
  info(): InfoAnswer {
    return INFO;
  }
}
