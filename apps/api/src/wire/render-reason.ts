import type { StatusReason } from '#lib/resources';

/** The two fields that say why a resource is in its state; null until its controller has reported. */
export function renderReason(reason: StatusReason | undefined): {
  readonly status_reason: string | null;
  readonly status_message: string | null;
} {
  return { status_reason: reason?.reason ?? null, status_message: reason?.message ?? null };
}
