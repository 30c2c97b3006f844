import { Param, type PipeTransform, Body, Query } from '@nestjs/common';
import { type Caller, CHOSEN_SCOPES, type ChosenScope, KEY_SCOPES, type KeyScope } from '#lib/auth';
import { PublicError } from '#lib/errors';
import { parseInstant } from '#lib/time';
import type { ApiKeyRecord, ApiKeys } from '#lib/trace-store';
import { Choice, Text, Time } from '../wire/fields.js';
import { QueryFlag } from '../wire/query-flag.js';
import { invalid } from '../wire/request-pipe.js';
import { Answered, orNull, TEXT, TIME, words } from '../wire/shape.js';
import { FromCaller } from '../tenancy/caller.js';
import { Described, Resource } from '../wire/operation.js';
import { Get, Post, Delete } from '../wire/route.js';
import { WORKSPACE } from '../wire/route-access.js';

const KEY_ID = /^[0-9A-Za-z]{1,100}$/;

/** The id of an API key in the path; whatever cannot be one names no key. */
function PathKeyId(name: string): ParameterDecorator {
  const pipe: PipeTransform = {
    transform(value: unknown) {
      if (typeof value === 'string' && KEY_ID.test(value)) return value;
      throw new PublicError('not_found', 'Not Found');
    },
  };
  return Param(name, pipe);
}

/** Body of `POST /api/v1/api-key`. */
class CreateKeyRequest {
  @Text({ minLength: 1, maxLength: 200, about: 'Owner or purpose of the key' })
  description?: string | null;

  @Choice(CHOSEN_SCOPES, { about: 'What the key opens; by default the whole workspace' })
  scope?: ChosenScope | null;

  @Time({ about: 'When the key expires, in the future; by default never, or with the key that makes it' })
  expires_at?: string | null;
}

/** Query of `GET /api/v1/api-key`. */
class KeysQuery {
  @QueryFlag({ about: 'Answers revoked keys, too' })
  include_revoked?: boolean;
}

/** An API key as it may be shown; the key itself is stored nowhere. */
class KeyAnswer {
  @Answered(TEXT) readonly id: string;
  @Answered(TEXT, 'Beginning of the key, to recognise it by') readonly short_key: string;
  @Answered(TEXT, 'Owner or purpose') readonly description: string;
  @Answered(words(KEY_SCOPES), 'What the key opens') readonly scope: KeyScope;
  @Answered(orNull(TEXT), 'AgentDeployment whose own key it is') readonly deployment: string | null;
  @Answered(TIME) readonly created_at: string;
  @Answered(orNull(TIME), 'From then on the key is refused') readonly expires_at: string | null;
  @Answered(orNull(TIME), 'To the minute') readonly last_used_at: string | null;
  @Answered(orNull(TIME)) readonly revoked_at: string | null;
}

/** A key that was just made. */
class NewKeyAnswer extends KeyAnswer {
  @Answered(TEXT, 'The key, in this answer only') readonly key: string;
}

const DEFAULT_DESCRIPTION = 'API key';

function renderKey(record: ApiKeyRecord): KeyAnswer {
  return {
    id: record.id,
    short_key: `apk_${record.id}`,
    description: record.name,
    scope: record.scope,
    deployment: record.deployment ?? null,
    created_at: record.createdAt.toISOString(),
    expires_at: record.expiresAt?.toISOString() ?? null,
    last_used_at: record.lastUsedAt?.toISOString() ?? null,
    revoked_at: record.revokedAt?.toISOString() ?? null,
  };
}

/** The API keys of one workspace at a time. */
export class Keys {
  constructor(
    private readonly apiKeys: Pick<ApiKeys, 'list' | 'mint' | 'revoke'>,
    /** The clock that decides whether a key is expired. */
    private readonly databaseTime: () => Promise<Date>,
  ) {}

  /** Newest first. */
  async list(tenantId: string, includeRevoked: boolean): Promise<readonly KeyAnswer[]> {
    const records = await this.apiKeys.list(tenantId);
    return records
      .filter(({ revokedAt }) => includeRevoked || revokedAt === undefined)
      .map((record) => renderKey(record));
  }

  /**
   * Creates a key. It never outlives the key that made it: without an expiry of its own it has that one's.
   * @throws PublicError invalid for an expiry in the past, or after that of the caller's own key
   */
  async create({ tenantId, keyId }: Caller, request: CreateKeyRequest): Promise<NewKeyAnswer> {
    const expiresAt = await this.#end(request.expires_at, await this.#endOf(tenantId, keyId));
    const { key, id } = await this.apiKeys.mint(tenantId, {
      name: request.description ?? DEFAULT_DESCRIPTION,
      scope: request.scope ?? 'workspace',
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
    return { ...renderKey(await this.#get(tenantId, id)), key };
  }

  /**
   * Revokes a key that is in force. A deployment's own key is not for people to revoke: its traces would be refused.
   * @throws PublicError not_found, conflict for the key of a deployment
   */
  async revoke(tenantId: string, id: string): Promise<KeyAnswer> {
    const { deployment } = await this.#get(tenantId, id);
    if (deployment !== undefined)
      throw new PublicError(
        'conflict',
        `API key ${id} belongs to the deployment ${deployment} and is revoked when that is deleted`,
      );
    if (!(await this.apiKeys.revoke(tenantId, id))) throw notFound(id);
    return renderKey(await this.#get(tenantId, id));
  }

  async #end(text: string | null | undefined, latest: Date | undefined): Promise<Date | undefined> {
    const instant = typeof text !== 'string' ? undefined : parseInstant(text, { zone: 'optional' });
    if (instant === undefined) return latest;
    const end = new Date(Number(instant / 1000n));
    const loc = ['body', 'expires_at'];
    if (end <= (await this.databaseTime()))
      throw invalid([{ loc, msg: 'Input should be in the future', type: 'datetime_future' }]);
    if (latest !== undefined && end > latest) {
      const msg = `Input should not be after ${latest.toISOString()}, when the key of this request expires`;
      throw invalid([{ loc, msg, type: 'datetime_after_own_end' }]);
    }
    return end;
  }

  /** Expiry of the caller's own key; the operator's never expires. */
  async #endOf(tenantId: string, keyId: string): Promise<Date | undefined> {
    return (await this.apiKeys.list(tenantId)).find(({ id }) => id === keyId)?.expiresAt;
  }

  async #get(tenantId: string, id: string): Promise<ApiKeyRecord> {
    const found = (await this.apiKeys.list(tenantId)).find((record) => record.id === id);
    if (!found) throw notFound(id);
    return found;
  }
}

function notFound(id: string): PublicError {
  return new PublicError('not_found', `API key ${id} not found`);
}

/** API keys of the caller's workspace. */
@Resource('API keys', 'api/v1/api-key')
export class KeysController {
  constructor(private readonly keys: Keys) {}

  @Get('', WORKSPACE, { summary: 'API keys of the workspace, newest first', answer: [KeyAnswer] })
  list(@FromCaller() caller: Caller, @Query() query: KeysQuery): Promise<readonly KeyAnswer[]> {
    return this.keys.list(caller.tenantId, query.include_revoked === true);
  }

  @Post('', WORKSPACE, { summary: 'Creates an API key and answers it, this once', answer: NewKeyAnswer })
  create(@FromCaller() caller: Caller, @Body() body: CreateKeyRequest): Promise<NewKeyAnswer> {
    return this.keys.create(caller, body);
  }

  @Delete(':api_key_id', WORKSPACE, {
    summary: 'Revokes an API key',
    answer: KeyAnswer,
    refuses: { 409: 'The key belongs to a deployment and is revoked when that is deleted' },
  })
  @Described(({ ApiParam }) => ApiParam({ name: 'api_key_id', schema: { type: 'string', maxLength: 100 } }))
  revoke(@FromCaller() caller: Caller, @PathKeyId('api_key_id') id: string): Promise<KeyAnswer> {
    return this.keys.revoke(caller.tenantId, id);
  }
}
