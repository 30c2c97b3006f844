/** The memory budget of all bodies of traces, runs and spans alike. */
export const TRACE_BODIES = Symbol('bodies of traces');
