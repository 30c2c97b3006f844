import { timingSafeEqual } from 'node:crypto';
import { digestIdleToken } from '#lib/resources';

/**
 * Header with the token by which a listener asks if a server is idle. Proxies of the platform never forward
 * it.
 */
export const IDLE_HEADER = 'x-agentplane-idle';

/** True when the header of a request has the token with this digest. */
export function isIdleToken(given: unknown, digest: string): boolean {
  if (typeof given !== 'string') return false;
  const [found, wanted] = [digestIdleToken(given), digest].map((text) => Buffer.from(text));
  return found?.length === wanted?.length && timingSafeEqual(found ?? Buffer.of(), wanted ?? Buffer.of());
}

/** Idle state of a server, as `GET /ok?idle=ask` answers a caller with its token. */
export interface IdleAnswer {
  /** Milliseconds since the last request; 0 while one is in flight. */
  readonly idleMs: number;
  /** True when it, or another server of its deployment, has work, or will have some within seconds. */
  readonly isBusy: boolean;
  /** Milliseconds until the next work is due; undefined without any. */
  readonly workInMs: number | undefined;
  /** True when it refuses requests now (`idle=close`): later requests are not stored. */
  readonly isClosed: boolean;
}

/** Member `idle` of the answer. */
export function formatIdle({
  idleMs,
  isBusy,
  workInMs,
  isClosed,
}: IdleAnswer): Readonly<Record<string, unknown>> {
  return { idle_ms: idleMs, busy: isBusy, work_in_ms: workInMs ?? null, closed: isClosed };
}

/** Content of the answer's body; undefined for a body of another shape. */
export function readIdle(body: unknown): IdleAnswer | undefined {
  const idle: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'idle') : undefined;
  if (typeof idle !== 'object' || idle === null) return undefined;
  const [idleMs, isBusy, workInMs, isClosed] = ['idle_ms', 'busy', 'work_in_ms', 'closed'].map(
    (name): unknown => Reflect.get(idle, name),
  );
  if (!isTime(idleMs) || typeof isBusy !== 'boolean' || typeof isClosed !== 'boolean') return undefined;
  if (workInMs !== null && !isTime(workInMs)) return undefined;
  return { idleMs, isBusy, workInMs: workInMs ?? undefined, isClosed };
}

/**
 * A pod runs untrusted code, and a time that no date can represent would crash a program that makes a date of
 * it.
 */
const MAX_TIME_MS = 11 * 366 * 24 * 3_600_000;

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_TIME_MS;
}
