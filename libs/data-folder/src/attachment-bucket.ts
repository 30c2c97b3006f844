/**
 * Bucket of the embedded object store for attachments of runs: apart from exports, whose keys never reach it.
 */
export const ATTACHMENT_BUCKET = 'agentplane-attachments';

/** The folder in it that the key of the api reaches. */
export const ATTACHMENT_PREFIX = 'runs';
