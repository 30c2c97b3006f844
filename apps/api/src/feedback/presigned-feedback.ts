import { randomUUID } from 'node:crypto';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { TokenBuckets } from '#lib/http';
import { type Clock, parseInstant } from '#lib/time';
import type { NewFeedbackToken, TraceStore } from '#lib/trace-store';
import type { Workspaces } from '../tenancy/workspaces.js';
import { invalid } from '../wire/request-pipe.js';
import { jsonText, mayChangeFeedback } from './feedback-parts.js';
import type { TokenFeedbackRequest, TokenRequest } from './token-request.js';
import { wrongField } from '../wire/request-pipe.js';

const DEFAULT_SECONDS = 3 * 3600;
const MOST_SECONDS = 366 * 86_400;
const MAX_AT_ONCE = 100;

/** Uses of one token: a person clicks, a script does not. */
const USES = { capacity: 30, perSecond: 0.5, most: 10_000 } as const;

/** Content of feedback that is given with a token. */
export type PresignedContent = Pick<
  TokenFeedbackRequest,
  'score' | 'value' | 'correction' | 'comment' | 'metadata'
>;

/** Feedback without a key: tokens that callers hand out, and the feedback that is given with them. */
export class PresignedFeedback {
  readonly #uses: TokenBuckets;

  constructor(
    private readonly store: Pick<TraceStore, 'feedback' | 'feedbackTokens' | 'projects'>,
    private readonly workspaces: Pick<Workspaces, 'has'>,
    private readonly clock: Clock,
  ) {
    this.#uses = new TokenBuckets({ ...USES, clock });
  }

  /** @throws PublicError invalid */
  async mint(caller: Caller, requests: readonly TokenRequest[], isList: boolean) {
    if (requests.length > MAX_AT_ONCE)
      throw invalid([
        { loc: ['body'], msg: `List should have at most ${MAX_AT_ONCE} items`, type: 'too_long' },
      ]);
    const tokens = requests.map((request, at) => this.#tokenOf(request, isList ? ['body', at] : ['body']));
    if (!mayChangeFeedback(caller)) for (const token of tokens) await this.#requireFree(caller, token);
    const own =
      caller.scope === 'deployment'
        ? (await this.store.projects.ensure(caller.tenantId, caller.project)).id
        : undefined;
    return this.store.feedbackTokens.mint(caller.tenantId, tokens, own);
  }

  /** Each use of a token with an id replaces the feedback that has it. @throws PublicError invalid */
  async #requireFree({ tenantId }: Caller, { feedbackId: id, place }: NewFeedbackToken): Promise<void> {
    if (id === undefined || (await this.store.feedback.get(tenantId, id)) === undefined) return;
    const msg = `making the token failed: feedback has the id ${id}, and this key changes none; choose another`;
    throw invalid([{ loc: [...place, 'id'], msg, type: 'feedback_exists' }]);
  }

  async list(caller: Caller, runId: string, page: { readonly limit: number; readonly offset: number }) {
    const { tenantId } = caller;
    if (caller.scope !== 'deployment') return this.store.feedbackTokens.list(tenantId, runId, page);
    const own = await this.store.projects.find(tenantId, { name: caller.project });
    return own ? this.store.feedbackTokens.list(tenantId, runId, page, own.id) : [];
  }

  /**
   * Stores feedback of any holder of the token. Only tokens that the platform made are counted and looked up:
   * guesses are refused by their signature, without slowing down others.
   * @throws PublicError not_found, too_many, invalid
   */
  async record(token: string, said: PresignedContent): Promise<void> {
    if (!(await this.store.feedbackTokens.isSigned(token))) throw unknown();
    if (!this.#uses.take(token))
      throw new PublicError('too_many', 'This token was used too often; retry later', [], {
        retryAfterSeconds: Math.max(1, Math.ceil(this.#uses.secondsUntilNext(token))),
      });
    const grant = await this.store.feedbackTokens.find(token);
    if (!grant || !this.workspaces.has(grant.tenantId)) throw unknown();
    const { tenantId, runId, projectId, key, config } = grant;
    const feedback = {
      id: grant.feedbackId ?? randomUUID(),
      runId,
      traceId: undefined,
      projectId: undefined,
      startTime: undefined,
      createdAt: undefined,
      key,
      config,
      place: ['body'],
      score: said.score ?? undefined,
      value: jsonText(said.value),
      correction: jsonText(said.correction),
      comment: said.comment ?? undefined,
      source: JSON.stringify({ type: 'api', metadata: said.metadata ?? {} }),
      extra: undefined,
      isError: undefined,
      extendsRetention: undefined,
      comparativeExperimentId: undefined,
      feedbackGroupId: undefined,
    };
    const own = projectId === undefined ? undefined : { id: projectId, name: 'its own' };
    await this.store.feedback.create(tenantId, feedback, own);
  }

  #tokenOf(request: TokenRequest, place: readonly (string | number)[]): NewFeedbackToken {
    return {
      runId: request.run_id.toLowerCase(),
      key: request.feedback_key,
      config: jsonText(request.feedback_config),
      feedbackId: request.id?.toLowerCase(),
      seconds: this.#secondsOf(request, place),
      place,
    };
  }

  #secondsOf(
    { expires_at: at, expires_in: period }: TokenRequest,
    place: readonly (string | number)[],
  ): number {
    const seconds = at ? this.#secondsUntil(at) : secondsIn(period);
    if (seconds > 0 && seconds <= MOST_SECONDS) return seconds;
    throw wrongField(
      [...place, at ? 'expires_at' : 'expires_in'],
      'the token should expire in the future, within 366 days',
    );
  }

  #secondsUntil(text: string): number {
    const instant = parseInstant(text, { zone: 'optional' }) ?? 0n;
    return Number(instant) / 1e6 - this.clock.now().getTime() / 1000;
  }
}

function unknown(): PublicError {
  return new PublicError('not_found', 'The feedback token does not exist or has expired; ask for another');
}

function secondsIn(period: TokenRequest['expires_in']): number {
  if (!period) return DEFAULT_SECONDS;
  const { days, hours, minutes } = period;
  return (days ?? 0) * 86_400 + (hours ?? 0) * 3600 + (minutes ?? 0) * 60;
}
