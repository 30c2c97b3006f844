import { KEY_SCOPES, type KeyScope } from '#lib/auth';
import { Answered, Perhaps, TEXT, UUID, WHOLE, words } from '../wire/shape.js';

/** Owner of a key, and its permissions. */
export class CallerAnswer {
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT, 'Public part of the key') readonly key_id: string;
  @Answered(words(KEY_SCOPES), 'What the key opens') readonly scope: KeyScope;
  @Perhaps(TEXT, 'Name of the AgentDeployment whose own key it is') readonly deployment?: string;
  @Perhaps(TEXT, 'Tracing project of that deployment, which bears its name on the wire')
  readonly project?: string;
  @Perhaps(WHOLE, 'Milliseconds until the key expires; absent on keys without an end')
  readonly expires_in_ms?: number;
}
