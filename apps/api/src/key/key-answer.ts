import { KEY_SCOPES, type KeyScope } from '#lib/auth';
import { Answered, orNull, TEXT, TIME, words } from '../wire/shape.js';

/** An API key as it may be shown; the key itself is stored nowhere. */
export class KeyAnswer {
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
export class NewKeyAnswer extends KeyAnswer {
  @Answered(TEXT, 'The key, in this answer only') readonly key: string;
}
