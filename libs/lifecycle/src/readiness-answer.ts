/** Why a program takes no work at present, as `GET /ok` answers it. */
export interface NotReady {
  /** A sentence without secrets. */
  readonly detail: string;
  /** The kind of the dependency that is unavailable; undefined when the program waits for none. */
  readonly waitingFor?: 'database';
}

/** Body of `GET /ok` of a program that is not ready. */
export function formatNotReady({ detail, waitingFor }: NotReady): Readonly<Record<string, unknown>> {
  return { ok: false, detail, ...(waitingFor === undefined ? {} : { waiting_for: waitingFor }) };
}

/** What the body of `GET /ok` of a program that is not ready says; empty for a body of another shape. */
export function readNotReady(body: unknown): Partial<Record<keyof NotReady, string>> {
  if (typeof body !== 'object' || body === null) return {};
  const waitingFor: unknown = Reflect.get(body, 'waiting_for');
  const detail: unknown = Reflect.get(body, 'detail');
  return {
    ...(typeof detail === 'string' ? { detail } : {}),
    ...(typeof waitingFor === 'string' ? { waitingFor } : {}),
  };
}
