import type { Position } from '../log/position.js';

/**
 * Numbers of one attempt, of one run, and runs of one thread: together the most that a JavaScript number
 * holds exactly.
 */
const ATTEMPT_NUMBERS = 2 ** 23;
const RUN_NUMBERS = 2 ** 30;
const MAX_PLACE = 2 ** 23 - 1;
const MAX_ATTEMPT = RUN_NUMBERS / ATTEMPT_NUMBERS - 1;

/**
 * The number of an event in the stream of its thread: the same at every server, and growing. It is made of
 * the run's place in its thread and the event's position, so that no server has to count, and readers that
 * reconnect get both from it again.
 * @returns undefined when the numbers end: after 8,388,607 runs of a thread, 127 attempts or 8,388,607 events
 *   of one
 */
export function sequenceOf(place: number, { attempt, n }: Position): number | undefined {
  // the last number of the last attempt is the one behind everything
  const fits = place <= MAX_PLACE && attempt <= MAX_ATTEMPT && n < ATTEMPT_NUMBERS - 1;
  return fits ? place * RUN_NUMBERS + attempt * ATTEMPT_NUMBERS + n : undefined;
}

/** Behind everything of a run. */
export function lastSequenceOf(place: number): number {
  return (Math.min(place, MAX_PLACE) + 1) * RUN_NUMBERS - 1;
}

/** The place of the run that a number belongs to. */
export function placeOf(sequence: number): number {
  return Math.floor(sequence / RUN_NUMBERS);
}

/** Position of an event in its run. */
export function positionOf(sequence: number): Position {
  const inRun = sequence % RUN_NUMBERS;
  return { attempt: Math.floor(inRun / ATTEMPT_NUMBERS), n: inRun % ATTEMPT_NUMBERS };
}
