import { formatInstant, type Instant, parseInstant } from '#lib/time';

/**
 * Place of a run in its trace: one segment for each ancestor from the root down to the run itself,
 * `20261120T215904635001Z01a1faf8-62bb-7000-8000-00d8ea2fd3a8`, joined by dots. Sorting by it walks the tree.
 */
export interface DottedOrder {
  readonly text: string;
  readonly traceId: string;
  /** Undefined for a root. */
  readonly parentRunId: string | undefined;
  /** Number of ancestors; `ancestorsIn` reads their ids where they are written. */
  readonly ancestors: number;
  readonly id: string;
  /** Time in the run's own segment. */
  readonly startTime: Instant;
}

const SEGMENT =
  /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{0,9})Z([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i;

/**
 * Maximum number of ancestors of a stored run under which a run is put by its parent's id alone: the child
 * contains all of them, and may be much shorter itself.
 */
export const MAX_KNOWN_ANCESTORS = 100;

/** Ancestors that a run may have; deeper traces are refused. */
const MAX_SEGMENTS = 1000;

/** @returns undefined when the text is not of the documented form */
export function parseDottedOrder(text: string): DottedOrder | undefined {
  const segments = text.split('.', MAX_SEGMENTS + 1);
  if (segments.length > MAX_SEGMENTS) return undefined;
  const last = SEGMENT.exec(segments.pop() ?? '');
  const startTime = last ? timeOf(last) : undefined;
  if (!last || startTime === undefined || !segments.every((segment) => SEGMENT.test(segment)))
    return undefined;
  const id = (last[8] ?? '').toLowerCase();
  const [root] = segments;
  const parent = segments.at(-1);
  return {
    text,
    id,
    startTime,
    ancestors: segments.length,
    traceId: root === undefined ? id : idIn(root),
    parentRunId: parent === undefined ? undefined : idIn(parent),
  };
}

const ID_CHARS = 36;

function idIn(segment: string): string {
  return segment.slice(-ID_CHARS).toLowerCase();
}

/**
 * Ids of the ancestors, root first. Ten times as long in memory as a child's own order: to be read when they are written.
 * @param order of the documented form
 */
export function ancestorsIn(order: string): readonly string[] {
  return order.split('.').slice(0, -1).map(idIn);
}

function timeOf([, year, month, day, hour, minute, second, fraction]: RegExpExecArray): Instant | undefined {
  const seconds = fraction ? `${second}.${fraction}` : second;
  return parseInstant(`${year}-${month}-${day}T${hour}:${minute}:${seconds}Z`, { zone: 'required' });
}

/** The dotted order of a run that came without one, below its parent's if that is known. */
export function buildDottedOrder(startTime: Instant, id: string, parent: string | undefined): string {
  const segment = `${formatInstant(startTime).replace(/[-:.]/g, '')}${id}`;
  return parent === undefined ? segment : `${parent}.${segment}`;
}
