/** The budget of what all bodies of traces hold in memory, runs and spans alike. */
export const TRACE_BODIES = Symbol('bodies of traces');
