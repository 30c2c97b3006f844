import type { Position } from '../log/position.js';

/** Of the places that one run has in its thread, and of those that one attempt has in its run. */
const RUN_PLACES = 2 ** 20;
const ATTEMPT_PLACES = 2 ** 16;

/**
 * The number of an event in the stream of its thread: the same at every server, and growing. It is made of the run's
 * place and the event's position, so that no server has to count. A first attempt with more than 65,536 events leaves the
 * order of those of a second one open; their ids differ all the same.
 */
export function sequenceOf(ordinal: number, { attempt, n }: Position): number {
  const place = Math.max(attempt - 1, 0) * ATTEMPT_PLACES + n;
  return ordinal * RUN_PLACES + Math.min(place, RUN_PLACES - 2);
}

/** Behind everything of a run. */
export function lastSequenceOf(ordinal: number): number {
  return (ordinal + 1) * RUN_PLACES - 1;
}

/** The run that a number belongs to. */
export function ordinalOf(sequence: number): number {
  return Math.floor(sequence / RUN_PLACES);
}

/** Where in its run an event stands; `attempts`: how many the run has had. */
export function positionOf(sequence: number, attempts: number): Position {
  const place = sequence % RUN_PLACES;
  if (attempts <= 1) return { attempt: 1, n: place };
  return { attempt: Math.floor(place / ATTEMPT_PLACES) + 1, n: place % ATTEMPT_PLACES };
}
