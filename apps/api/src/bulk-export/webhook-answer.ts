import type { RenderedWebhook, WebhookState } from '#lib/export-plan';
import { Answered, FLAG, orNull, TEXT, TIME, WHOLE, words } from '../wire/shape.js';

/** Progress of an export's webhook, in the API. */
export class WebhookAnswer implements RenderedWebhook {
  @Answered(TEXT, 'Without its query') readonly url: string;
  @Answered(FLAG, 'Whether calls are signed') readonly signed: boolean;
  @Answered(
    orNull(words(['PENDING', 'DELIVERED', 'FAILED'])),
    'FAILED once calls are given up; null of a schedule, which calls nothing itself',
  )
  readonly status: WebhookState | null;
  @Answered(WHOLE, 'Calls that were begun') readonly attempts: number;
  @Answered(orNull(TIME)) readonly last_attempt_at: string | null;
  @Answered(orNull(TIME), 'null while a call is in progress, and at the end')
  readonly next_attempt_at: string | null;
  @Answered(orNull(TIME)) readonly delivered_at: string | null;
  @Answered(orNull(TEXT), 'Why the newest call that failed did') readonly last_error: string | null;
}
