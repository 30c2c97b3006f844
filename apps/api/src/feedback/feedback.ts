import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { isUuid } from '#lib/resources';
import type { FeedbackChange, StoredFeedback, TraceStore } from '#lib/trace-store';
import { invalid } from '../wire/request-pipe.js';
import type { CreateFeedbackRequest, FeedbackQuery, UpdateFeedbackRequest } from './feedback-request.js';
import { instant, jsonText, mayChangeFeedback, newFeedback } from './feedback-parts.js';

/** Feedback of the runs that a caller's key reaches. */
export class Feedback {
  constructor(private readonly store: Pick<TraceStore, 'feedback' | 'projects'>) {}

  /** @throws PublicError invalid, forbidden */
  async create(caller: Caller, request: CreateFeedbackRequest): Promise<StoredFeedback> {
    const feedback = { ...newFeedback(request, ['body']), replacesNone: !mayChangeFeedback(caller) };
    const own =
      caller.scope === 'deployment'
        ? await this.store.projects.ensure(caller.tenantId, caller.project)
        : undefined;
    return this.store.feedback.create(caller.tenantId, feedback, own);
  }

  /** @throws PublicError not_found */
  async get(caller: Caller, id: string): Promise<StoredFeedback> {
    const found = await this.#within(caller, (own) => this.store.feedback.get(caller.tenantId, id, own));
    return found ?? notFound(id);
  }

  /** @throws PublicError not_found */
  async update(caller: Caller, id: string, request: UpdateFeedbackRequest): Promise<StoredFeedback> {
    const { score, comment } = request;
    const change: FeedbackChange = {
      score,
      comment,
      value: text(request.value),
      correction: text(request.correction),
      config: text(request.feedback_config),
    };
    const changed = await this.#within(caller, (own) =>
      this.store.feedback.update(caller.tenantId, id, change, own),
    );
    return changed ?? notFound(id);
  }

  /** @throws PublicError not_found */
  async delete(caller: Caller, id: string): Promise<void> {
    const isDeleted = await this.#within(caller, (own) =>
      this.store.feedback.delete(caller.tenantId, id, own),
    );
    if (isDeleted !== true) notFound(id);
  }

  /** @throws PublicError invalid, bad_request */
  async list(caller: Caller, query: FeedbackQuery): Promise<readonly StoredFeedback[]> {
    const { limit, offset } = query;
    const search = {
      runIds: uuids('run', query.run),
      projectIds: uuids('session', query.session),
      keys: query.key,
      sources: query.source,
      comparativeExperimentId: query.comparative_experiment_id,
      hasComment: query.has_comment,
      hasScore: query.has_score,
      level: query.level,
      createdFrom: instant(query.min_created_at),
      createdTo: instant(query.max_created_at),
    };
    const found = await this.#within(caller, (own) =>
      this.store.feedback.list(caller.tenantId, search, { limit, offset }, own),
    );
    return found ?? [];
  }

  /** A deployment's own key reaches its project alone: nothing, if the project does not exist. */
  async #within<T>(caller: Caller, work: (own: string | undefined) => Promise<T>): Promise<T | undefined> {
    if (caller.scope !== 'deployment') return work(undefined);
    const own = await this.store.projects.find(caller.tenantId, { name: caller.project });
    return own && work(own.id);
  }
}

/** Null stays null: it removes the stored value. */
function text(value: unknown): string | null | undefined {
  return value === null ? null : jsonText(value);
}

function notFound(id: string): never {
  throw new PublicError('not_found', `Feedback with ID ${id} not found`);
}

function uuids(name: string, ids: readonly string[] | undefined): readonly string[] | undefined {
  const at = ids?.findIndex((id) => !isUuid(id)) ?? -1;
  if (at >= 0)
    throw invalid([{ loc: ['query', name, at], msg: 'Input should be a valid UUID', type: 'uuid_parsing' }]);
  return ids?.map((id) => id.toLowerCase());
}
