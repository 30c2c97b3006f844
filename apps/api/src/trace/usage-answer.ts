import { NUMBER, orNull, Perhaps, WHOLE } from '../wire/shape.js';

/** Tokens and costs of a run on the second wire, as far as they were selected. */
export class UsageV2Answer {
  @Perhaps(WHOLE) readonly total_tokens?: number;
  @Perhaps(WHOLE) readonly prompt_tokens?: number;
  @Perhaps(WHOLE) readonly completion_tokens?: number;
  @Perhaps(orNull(NUMBER), 'Dollars') readonly total_cost?: number | null;
  @Perhaps(orNull(NUMBER), 'Dollars') readonly prompt_cost?: number | null;
  @Perhaps(orNull(NUMBER), 'Dollars') readonly completion_cost?: number | null;
}
