import { CHOSEN_SCOPES, type ChosenScope } from '#lib/auth';
import { Choice, Text, Time } from '../wire/fields.js';
import { QueryFlag } from '../wire/query-flag.js';

/** Body of `POST /api/v1/api-key`. */
export class CreateKeyRequest {
  @Text({ minLength: 1, maxLength: 200, about: 'Owner or purpose of the key' })
  description?: string | null;

  @Choice(CHOSEN_SCOPES, { about: 'What the key opens; by default the whole workspace' })
  scope?: ChosenScope | null;

  @Time({ about: 'When the key expires, in the future; by default never, or with the key that makes it' })
  expires_at?: string | null;
}

/** Query of `GET /api/v1/api-key`. */
export class KeysQuery {
  @QueryFlag({ about: 'Answers revoked keys, too' })
  include_revoked?: boolean;
}
