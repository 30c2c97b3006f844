/** Header with the token by which a listener asks whether a server may rest. */
export const REST_HEADER = 'x-agentplane-rest';

/** Whether a server is idle, as `GET /ok?rest=ask` answers whoever has its token. */
export interface RestAnswer {
  /** For how many milliseconds nothing has been asked of it; 0 while something is. */
  readonly idleMs: number;
  /** Whether it, or another server of its deployment, has something to do, or will within seconds. */
  readonly isBusy: boolean;
  /** In how many milliseconds work is due next; undefined: none is. */
  readonly workInMs: number | undefined;
  /** Whether it refuses requests now (`rest=close`): what is asked of it from here on is not stored. */
  readonly isClosed: boolean;
}

/** Member `rest` of the answer. */
export function formatRest({
  idleMs,
  isBusy,
  workInMs,
  isClosed,
}: RestAnswer): Readonly<Record<string, unknown>> {
  return { idle_ms: idleMs, busy: isBusy, work_in_ms: workInMs ?? null, closed: isClosed };
}

/** What the body of the answer says; undefined for a body of another shape. */
export function readRest(body: unknown): RestAnswer | undefined {
  const rest: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'rest') : undefined;
  if (typeof rest !== 'object' || rest === null) return undefined;
  const [idleMs, isBusy, workInMs, isClosed] = ['idle_ms', 'busy', 'work_in_ms', 'closed'].map(
    (name): unknown => Reflect.get(rest, name),
  );
  if (!isTime(idleMs) || typeof isBusy !== 'boolean' || typeof isClosed !== 'boolean') return undefined;
  if (workInMs !== null && !isTime(workInMs)) return undefined;
  return { idleMs, isBusy, workInMs: workInMs ?? undefined, isClosed };
}

/** A pod runs other people's code, and a time that no date can be would end whoever makes one of it. */
const MAX_TIME_MS = 11 * 366 * 24 * 3_600_000;

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_TIME_MS;
}
