import { Body, Inject, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Caller } from '#lib/auth';
import type { ApiConfig } from '../config.js';
import { API_CONFIG } from '../core/tokens.js';
import { FromCaller } from '../tenancy/caller.js';
import { Resource } from '../wire/operation.js';
import { askedOrigin, originOf } from '../wire/origin-of.js';
import { PathId } from '../wire/query-flag.js';
import { RequestPipe } from '../wire/request-pipe.js';
import { Post, Get } from '../wire/route.js';
import { publicly, READ_RUNS, WRITE_RUNS } from '../wire/route-access.js';
import { PresignedFeedback } from './presigned-feedback.js';
import {
  FeedbackTokenAnswer,
  RecordedAnswer,
  TokenFeedbackQuery,
  TokenFeedbackRequest,
  TokenRequest,
  TokensQuery,
} from './token-request.js';

/** Replacement in lists for the token, which is answered once. */
const HIDDEN = 'shown-once';
const RECORDED: RecordedAnswer = { message: 'Feedback was recorded' };

const pipe = new RequestPipe();

/** Feedback without a key. */
@Resource('Feedback', ['feedback/tokens', 'api/v1/feedback/tokens'])
export class PresignedController {
  constructor(
    private readonly presigned: PresignedFeedback,
    @Inject(API_CONFIG) private readonly config: Pick<ApiConfig, 'publicUrl'>,
  ) {}

  @Post('', WRITE_RUNS, {
    summary:
      'Makes an address that takes feedback of a run without a key; a list of requests is answered by a list',
    answer: FeedbackTokenAnswer,
    body: TokenRequest,
  })
  async create(
    @FromCaller() caller: Caller,
    @Body() body: unknown,
    @Req() request: FastifyRequest,
  ): Promise<FeedbackTokenAnswer | FeedbackTokenAnswer[] | undefined> {
    const items: unknown[] = Array.isArray(body) ? body : [body];
    const type = { type: 'body', metatype: TokenRequest } as const;
    const requests: TokenRequest[] = [];
    for (const item of items.slice(0, 101)) requests.push((await pipe.transform(item, type)) as TokenRequest);
    const address = this.#address(request);
    const minted = await this.presigned.mint(caller, requests, Array.isArray(body));
    const answers = minted.map(({ id, token, expiresAt }) => ({
      id,
      url: `${address}${token}`,
      expires_at: expiresAt.toISOString(),
    }));
    return Array.isArray(body) ? answers : answers[0];
  }

  @Get('', READ_RUNS, { summary: 'Tokens of a run that may still be used', answer: [FeedbackTokenAnswer] })
  async list(
    @FromCaller() caller: Caller,
    @Query() { run_id: runId, limit, offset }: TokensQuery,
    @Req() request: FastifyRequest,
  ): Promise<FeedbackTokenAnswer[]> {
    const tokens = await this.presigned.list(caller, runId.toLowerCase(), { limit, offset });
    return tokens.map(({ id, expiresAt }) => ({
      id,
      url: `${this.#address(request)}${HIDDEN}`,
      expires_at: expiresAt.toISOString(),
    }));
  }

  @Get(':token', publicly('the token opens feedback for one run'), {
    summary: 'Stores feedback that is given with a token',
    answer: RecordedAnswer,
  })
  async give(
    @PathId('token') token: string,
    @Query() query: TokenFeedbackQuery,
    @Req() request: FastifyRequest,
  ): Promise<RecordedAnswer> {
    // programs that preview links send HEAD to their targets
    if (request.method !== 'HEAD') await this.presigned.record(token, query);
    return RECORDED;
  }

  @Post(':token', publicly('the token opens feedback for one run'), {
    summary: 'Stores feedback that is given with a token',
    answer: RecordedAnswer,
  })
  async send(@PathId('token') token: string, @Body() body: TokenFeedbackRequest): Promise<RecordedAnswer> {
    await this.presigned.record(token, body);
    return RECORDED;
  }

  /** Address at which tokens are used: below the prefix that the caller itself used. */
  #address(request: FastifyRequest): string {
    const origin = originOf(this.config.publicUrl, askedOrigin(request));
    return `${origin}${request.url.startsWith('/api/v1/') ? '/api/v1' : ''}/feedback/tokens/`;
  }
}
