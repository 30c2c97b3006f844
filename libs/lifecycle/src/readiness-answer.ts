/** Reason why a program takes no work at present, as `GET /ok` answers it. */
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

/** Content of the body of `GET /ok` of a program that is not ready; empty for a body of another shape. */
export function readNotReady(body: unknown): Partial<Record<keyof NotReady, string>> {
  if (typeof body !== 'object' || body === null) return {};
  const waitingFor: unknown = Reflect.get(body, 'waiting_for');
  const detail: unknown = Reflect.get(body, 'detail');
  return {
    ...(typeof detail === 'string' ? { detail } : {}),
    ...(typeof waitingFor === 'string' ? { waitingFor } : {}),
  };
}

/** Member of the answer of an agent server whose graph hosts end with nothing to do: how often in a row. */
export function formatHostEnds(times: number): Readonly<Record<string, number>> {
  return times === 0 ? {} : { host_ends: times };
}

/** The number of ends that a body states; 0 for a body of another shape. */
export function readHostEnds(body: unknown): number {
  const times: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'host_ends') : 0;
  return isCount(times) ? times : 0;
}

/** Load of a deployment, as `GET /ok?load=1` of one of its servers answers. */
export interface RunLoad {
  /** Runs that would begin at once if a server had a place for them. */
  readonly waiting: number;
  /** Runs at work, at all servers. */
  readonly atWork: number;
  /** Runs that this server has places for. */
  readonly places: number;
  /** Cores that the processes of this server used lately; absent where they cannot be counted. */
  readonly cores?: number;
}

/** Member `load` of the answer. */
export function formatRunLoad({ waiting, atWork, places, cores }: RunLoad): Readonly<Record<string, number>> {
  return { waiting, at_work: atWork, places, ...(cores === undefined ? {} : { cores }) };
}

/** Content of the answer's body; undefined for a body of another shape. */
export function readRunLoad(body: unknown): RunLoad | undefined {
  const load: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'load') : undefined;
  if (typeof load !== 'object' || load === null) return undefined;
  const [waiting, atWork, places] = ['waiting', 'at_work', 'places'].map((name): unknown =>
    Reflect.get(load, name),
  );
  if (!isCount(waiting) || !isCount(atWork) || !isCount(places)) return undefined;
  const cores: unknown = Reflect.get(load, 'cores');
  const isUsed = typeof cores === 'number' && Number.isFinite(cores) && cores >= 0;
  return { waiting, atWork, places, ...(isUsed ? { cores } : {}) };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
