import { Answered, FLAG, TEXT, UUID, WHOLE } from '../wire/shape.js';

/** A git integration on the wire: all but its token. */
export class IntegrationAnswer {
  @Answered(UUID, 'What source_config.integration_id names') readonly id: string;
  @Answered(TEXT) readonly name: string;
  @Answered(TEXT, 'The only host that gets the token') readonly host: string;
  @Answered(FLAG, 'Whether it has a webhook for pushes') readonly has_webhook: boolean;
}

/** Address at which a git host announces pushes, and the secret that signs them. */
export class IntegrationWebhookAnswer {
  @Answered(TEXT, 'Address of the webhook, for the settings of the repository or the organization')
  readonly url: string;
  @Answered(TEXT, 'Secret that the host signs with; never shown again') readonly secret: string;
}

/** Result of an announced push. */
export class HeardPushAnswer {
  @Answered(WHOLE, 'Number of deployments that look at their branch at once') readonly woken: number;
}
