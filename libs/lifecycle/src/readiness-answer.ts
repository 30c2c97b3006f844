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

/** What the body of `GET /ok` names as unavailable, as a sentence; undefined when it names nothing. */
export function readWaitingFor(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const waitingFor: unknown = Reflect.get(body, 'waiting_for');
  const detail: unknown = Reflect.get(body, 'detail');
  if (typeof waitingFor !== 'string') return undefined;
  return typeof detail === 'string' ? detail : `waiting for the ${waitingFor}`;
}
