import { Transform } from 'class-transformer';
import { Flag, Text } from '../wire/fields.js';

/** Body of `POST /api/v1/api-key`. */
export class CreateKeyRequest {
  @Text({ minLength: 1, maxLength: 200, about: 'Owner or purpose of the key' })
  description?: string | null;
}

/** Query of `GET /api/v1/api-key`. */
export class KeysQuery {
  @Flag({ about: 'Answers revoked keys, too' })
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value))
  include_revoked?: boolean;
}
