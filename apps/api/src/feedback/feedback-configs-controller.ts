import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { parseJson } from '#lib/json';
import { formatInstant } from '#lib/time';
import type { FeedbackConfig, TraceStore } from '#lib/trace-store';
import { Body, Query } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { FromCaller } from '../tenancy/caller.js';
import { Resource } from '../wire/operation.js';
import {
  Choice,
  Decimal,
  DecimalList,
  Flag,
  Nested,
  NestedList,
  Text,
  TextList,
  Uuid,
} from '../wire/fields.js';
import { HundredsQuery, QueryFlag } from '../wire/query-flag.js';
import { Post, Get, Patch, Delete } from '../wire/route.js';
import { READ, WORKSPACE } from '../wire/route-access.js';
import { Answered, asList, FLAG, JSON_VALUE, TEXT, TIME, UUID } from '../wire/shape.js';
import { MAX_KEY } from './feedback-request.js';
import { wrongField } from '../wire/request-pipe.js';

const MAX_CATEGORIES = 100;
const MAX_NUMBER = 1e15;
const NUMBER = { min: -MAX_NUMBER, max: MAX_NUMBER };

/** A value of feedback with its label. */
class FeedbackCategory {
  @Decimal({ required: true, ...NUMBER })
  value: number;

  @Text({ maxLength: 180 })
  label?: string | null;
}

/** Interpretation of feedback. */
class FeedbackConfigContent {
  @Choice(['continuous', 'categorical', 'freeform'], { required: true })
  type: 'continuous' | 'categorical' | 'freeform';

  @Decimal({ ...NUMBER, about: 'Of continuous feedback' })
  min?: number | null;

  @Decimal({ ...NUMBER, about: 'Of continuous feedback' })
  max?: number | null;

  @NestedList(() => FeedbackCategory, {
    maxSize: MAX_CATEGORIES,
    about: 'Of categorical feedback, two or more',
  })
  categories?: FeedbackCategory[] | null;

  @Flag({ about: 'Whether several categories may be given at once' })
  allows_multiple_categories?: boolean | null;
}

/** Body of `POST /feedback-configs`. */
class CreateFeedbackConfigRequest {
  @Text({ required: true, minLength: 1, maxLength: MAX_KEY, isUnicode: true })
  feedback_key: string;

  @Nested(() => FeedbackConfigContent, { required: true })
  feedback_config: FeedbackConfigContent;

  @Flag({ about: 'False when absent' })
  is_lower_score_better?: boolean | null;

  @Flag({ about: 'Not supported when true' })
  is_enforced?: boolean | null;
}

/** Body of `PATCH /feedback-configs`. */
class UpdateFeedbackConfigRequest {
  @Text({ required: true, minLength: 1, maxLength: MAX_KEY, isUnicode: true })
  feedback_key: string;

  @Uuid({ about: 'Of the configuration; a key has one' })
  id?: string | null;

  @Nested(() => FeedbackConfigContent, { about: 'Replaces the whole configuration' })
  feedback_config?: FeedbackConfigContent | null;

  @Flag()
  is_lower_score_better?: boolean | null;

  @NestedList(() => FeedbackCategory, { maxSize: MAX_CATEGORIES, about: 'Are added to those that there are' })
  add_categories?: FeedbackCategory[] | null;

  @DecimalList({ maxSize: MAX_CATEGORIES, about: 'Values of categories that are taken away' })
  remove_categories?: number[] | null;
}

/** Query of `GET /feedback-configs`. */
class FeedbackConfigsQuery extends HundredsQuery {
  @TextList({ maxSize: 100, maxLength: MAX_KEY, about: 'Keys' })
  @Transform(asList)
  key?: string[];

  @Text({ maxLength: MAX_KEY, about: 'Part of a key' })
  name_contains?: string;

  @QueryFlag({ about: 'Taken and without effect: a key has one configuration' })
  include_all_configs?: boolean;

  @QueryFlag({ about: 'True answers none: no configuration is enforced' })
  is_enforced?: boolean;
}

/** Query of `DELETE /feedback-configs`: one of both. */
class DeleteFeedbackConfigQuery {
  @Text({ maxLength: MAX_KEY })
  feedback_key?: string;

  @Uuid()
  id?: string;
}

/** Configurations of feedback, as requests ask for them. */
export class FeedbackConfigurations {
  constructor(private readonly store: Pick<TraceStore, 'feedbackConfigs'>) {}

  /** @throws PublicError bad_request when the key has another one; forbidden, invalid */
  async create(tenantId: string, request: CreateFeedbackConfigRequest): Promise<FeedbackConfig> {
    const { feedback_key: key, is_lower_score_better: isLower } = request;
    if (request.is_enforced === true)
      throw wrongField(['body', 'is_enforced'], 'enforced configurations are not supported; leave it out');
    const content = contentOf(request.feedback_config);
    const made = await this.store.feedbackConfigs.ensure(tenantId, {
      key,
      config: JSON.stringify(content),
      isLowerScoreBetter: isLower ?? false,
    });
    const isSame =
      isDeepStrictEqual(parseJson(made.config), parseJson(JSON.stringify(content))) &&
      (isLower ?? made.isLowerScoreBetter) === made.isLowerScoreBetter;
    if (isSame) return made;
    throw new PublicError(
      'bad_request',
      `Feedback config already exists: the key ${key} has another one; change that, or use another key`,
    );
  }

  list(tenantId: string, query: FeedbackConfigsQuery): Promise<readonly FeedbackConfig[]> {
    const { key: keys, name_contains: keyContains, limit, offset } = query;
    if (query.is_enforced === true) return Promise.resolve([]);
    return this.store.feedbackConfigs.list(tenantId, { keys, keyContains, limit, offset });
  }

  /** @throws PublicError not_found, invalid */
  async update(tenantId: string, request: UpdateFeedbackConfigRequest): Promise<FeedbackConfig> {
    const { feedback_key: key, id, is_lower_score_better: isLower } = request;
    const changed = await this.store.feedbackConfigs.update(tenantId, key, (found) => {
      if (id && id.toLowerCase() !== found.id) throw missing(`with ID ${id}`);
      const content = changedContent(request, parseJson(found.config) as FeedbackConfigContent);
      return { config: content && JSON.stringify(content), isLowerScoreBetter: isLower ?? undefined };
    });
    if (changed) return changed;
    throw missing(key);
  }

  /** @throws PublicError not_found, invalid */
  async delete(tenantId: string, { feedback_key: key, id }: DeleteFeedbackConfigQuery): Promise<void> {
    if ((key === undefined) === (id === undefined))
      throw wrongField(['query', 'feedback_key'], 'Either feedback_key or id should be given');
    const which = key === undefined ? { id: id ?? '' } : { key };
    if (!(await this.store.feedbackConfigs.delete(tenantId, which))) throw missing(key ?? `with ID ${id}`);
  }
}

/** Content of the configuration after the change. @throws PublicError invalid */
function changedContent(
  { feedback_config: given, add_categories: added, remove_categories: removed }: UpdateFeedbackConfigRequest,
  found: FeedbackConfigContent,
): FeedbackConfigContent | undefined {
  const before = given ?? found;
  if (!added && !removed) return given ? contentOf(given) : undefined;
  const name = added ? 'add_categories' : 'remove_categories';
  if (before.type !== 'categorical') throw wrongField(['body', name], 'the configuration is not categorical');
  const kept = (before.categories ?? []).filter(({ value }) => !removed?.includes(value));
  return contentOf({ ...before, categories: [...kept, ...(added ?? [])] }, name);
}

/** @throws PublicError invalid */
function contentOf(content: FeedbackConfigContent, name = 'feedback_config'): FeedbackConfigContent {
  const { type, min, max, categories } = content;
  if (typeof min === 'number' && typeof max === 'number' && min > max)
    throw wrongField(['body', name], 'min should not be greater than max');
  if (type === 'categorical') checkCategories(categories ?? [], name);
  return content;
}

function checkCategories(categories: readonly FeedbackCategory[], name: string): void {
  if (categories.length < 2)
    throw wrongField(['body', name], 'a categorical configuration has two categories or more');
  const values = categories.map(({ value }) => value);
  const labels = categories.flatMap(({ label }) => label ?? []);
  for (const [what, all] of [
    ['value', values],
    ['label', labels],
  ] as const)
    if (new Set<unknown>(all).size < all.length)
      throw wrongField(['body', name], `two categories have the same ${what}`);
}

function missing(which: string): PublicError {
  return new PublicError('not_found', `Feedback config ${which} not found`);
}

/** A configuration of feedback on the wire. */
class FeedbackConfigAnswer {
  @Answered(UUID) readonly id: string;
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT) readonly feedback_key: string;
  @Answered(JSON_VALUE) readonly feedback_config: unknown;
  @Answered(FLAG) readonly is_lower_score_better: boolean;
  @Answered(FLAG, 'Always false') readonly is_enforced: boolean;
  @Answered(FLAG, 'Always true: a key has one') readonly is_first: boolean;
  @Answered(FLAG, 'Always false') readonly is_deleted: boolean;
  @Answered(TIME) readonly modified_at: string;
}

function render(tenantId: string, found: FeedbackConfig): FeedbackConfigAnswer {
  return {
    id: found.id,
    tenant_id: tenantId,
    feedback_key: found.key,
    feedback_config: parseJson(found.config),
    is_lower_score_better: found.isLowerScoreBetter,
    is_enforced: false,
    is_first: true,
    is_deleted: false,
    modified_at: formatInstant(found.modifiedAt),
  };
}

/** Interpretation of the feedback of a key, in the API of the `langsmith` clients. */
@Resource('Feedback', ['feedback-configs', 'api/v1/feedback-configs'])
export class FeedbackConfigsController {
  constructor(private readonly configs: FeedbackConfigurations) {}

  @Post('', WORKSPACE, {
    summary: 'Creates the configuration of a key; an equal one that exists is answered',
    answer: FeedbackConfigAnswer,
    refuses: { 400: 'The key has another configuration' },
  })
  async create(
    @FromCaller() { tenantId }: Caller,
    @Body() body: CreateFeedbackConfigRequest,
  ): Promise<FeedbackConfigAnswer> {
    return render(tenantId, await this.configs.create(tenantId, body));
  }

  @Get('', READ, { summary: 'Configurations of feedback, by key', answer: [FeedbackConfigAnswer] })
  async list(
    @FromCaller() { tenantId }: Caller,
    @Query() query: FeedbackConfigsQuery,
  ): Promise<FeedbackConfigAnswer[]> {
    return (await this.configs.list(tenantId, query)).map((one) => render(tenantId, one));
  }

  @Patch('', WORKSPACE, {
    summary: 'Changes the configuration of a key; what is null or absent stays as it is',
    answer: FeedbackConfigAnswer,
    refuses: { 404: 'The key has no configuration' },
  })
  async update(
    @FromCaller() { tenantId }: Caller,
    @Body() body: UpdateFeedbackConfigRequest,
  ): Promise<FeedbackConfigAnswer> {
    return render(tenantId, await this.configs.update(tenantId, body));
  }

  @Delete('', WORKSPACE, {
    summary: 'Deletes a configuration, by its key or id',
    status: 204,
    refuses: { 404: 'There is no such configuration' },
  })
  async delete(@FromCaller() { tenantId }: Caller, @Query() query: DeleteFeedbackConfigQuery): Promise<void> {
    await this.configs.delete(tenantId, query);
  }
}
