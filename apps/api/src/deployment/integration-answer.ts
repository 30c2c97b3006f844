import { Answered, FLAG, TEXT, UUID, WHOLE } from '../wire/shape.js';

/** A git integration on the wire: all but its token. */
export class IntegrationAnswer {
  @Answered(UUID, 'What source_config.integration_id names') readonly id: string;
  @Answered(TEXT) readonly name: string;
  @Answered(TEXT, 'The only host that gets the token') readonly host: string;
  @Answered(FLAG, 'Whether pushes that the host announces are heard') readonly has_webhook: boolean;
}

/** Where a git host announces pushes, and what it signs them with. */
export class WebhookAnswer {
  @Answered(TEXT, 'Address of the webhook, for the settings of the repository or the organization')
  readonly url: string;
  @Answered(TEXT, 'What the host signs with; it is never shown again') readonly secret: string;
}

/** What became of an announced push. */
export class HeardPushAnswer {
  @Answered(WHOLE, 'Deployments that look at their branch because of it') readonly woken: number;
}
