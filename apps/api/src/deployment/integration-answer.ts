import { Answered, UUID } from '../wire/shape.js';

/** A git integration on the wire. */
export class IntegrationAnswer {
  @Answered(UUID) readonly id: string;
}
