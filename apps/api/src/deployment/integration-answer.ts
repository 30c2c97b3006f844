import { Answered, TEXT, UUID } from '../wire/shape.js';

/** A git integration on the wire: all but its token. */
export class IntegrationAnswer {
  @Answered(UUID, 'What source_config.integration_id names') readonly id: string;
  @Answered(TEXT) readonly name: string;
  @Answered(TEXT, 'The only host that gets the token') readonly host: string;
}
