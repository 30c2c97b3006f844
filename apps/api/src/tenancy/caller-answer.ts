import { Answered, Perhaps, TEXT, UUID } from '../wire/shape.js';

/** Whom a key belongs to. */
export class CallerAnswer {
  @Answered(UUID) readonly tenant_id: string;
  @Answered(TEXT, 'Public part of the key') readonly key_id: string;
  @Perhaps(TEXT, 'Name of the AgentDeployment whose own key it is') readonly deployment?: string;
}
