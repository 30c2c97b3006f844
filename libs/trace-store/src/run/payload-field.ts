/** Parts of a run that are kept as the bytes they arrived in and never parsed and printed again. */
export const PAYLOAD_FIELDS = ['inputs', 'outputs', 'extra', 'events', 'error', 'serialized'] as const;
export type PayloadField = (typeof PAYLOAD_FIELDS)[number];
