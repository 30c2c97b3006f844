import { Answered, Perhaps, UUID } from '../wire/shape.js';

export class ShareAnswer {
  @Perhaps(UUID, 'Opens the trace of the run at /public/{share_token}/r for anyone; absent while not shared')
  readonly share_token?: string;
  @Perhaps(UUID) readonly run_id?: string;
}

/** A share in the second API. */
export class SelectedShareAnswer {
  @Answered(UUID, 'Opens the trace of the run at /public/{share_token}/r for anyone')
  readonly share_token: string;
}
