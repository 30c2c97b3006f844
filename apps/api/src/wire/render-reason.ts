import type { StatusReason } from '#lib/resources';

/** The two fields that explain the state of a resource; null until its controller has reported. */
export function renderReason(reason: StatusReason | undefined): {
  readonly status_reason: string | null;
  readonly status_message: string | null;
} {
  return { status_reason: reason?.reason ?? null, status_message: reason?.message ?? null };
}
