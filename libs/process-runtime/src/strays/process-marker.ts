import { NODE_MARKS } from '#lib/config';

/**
 * - `NODE_MARKER`: variable that every process of a node carries; its value is the node's folder of pods. Found again in
 *   `/proc`.
 * - `POD_MARKER`: the pod that a process belongs to.
 * - `ATTEMPT_MARKER`: the attempt at a container that a process belongs to: what it left running when it ended is found by
 *   it.
 */
export const [NODE_MARKER, POD_MARKER, ATTEMPT_MARKER] = NODE_MARKS;
