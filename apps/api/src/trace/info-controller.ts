import { Controller, Get, Inject } from '@nestjs/common';
import { findDiskTrouble } from '#lib/data-folder';
import type { ApiConfig } from '../config.js';
import { API_CONFIG } from '../core/tokens.js';
import { Described } from '../wire/described.js';
import { Operation } from '../wire/operation.js';
import { InfoAnswer, OkAnswer } from './info-answer.js';

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
@Described(({ ApiTags }) => ApiTags('Info'))
@Controller()
export class InfoController {
  readonly #dataFolder: string | undefined;

  constructor(@Inject(API_CONFIG) { dataFolder }: Pick<ApiConfig, 'dataFolder'>) {
    this.#dataFolder = dataFolder;
  }

  @Get('ok')
  @Operation({ summary: 'Whether the api works', answer: OkAnswer })
  ok(): OkAnswer {
    // still 200: a platform whose disk is full must stay available to readers
    const detail = this.#dataFolder === undefined ? undefined : findDiskTrouble(this.#dataFolder);
    return { ok: true, ...(detail === undefined ? {} : { detail }) };
  }

  @Get(['info', 'api/v1/info'])
  @Operation({ summary: 'What clients may expect', answer: InfoAnswer })
  info(): InfoAnswer {
    return INFO;
  }
}
