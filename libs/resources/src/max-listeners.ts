/**
 * Listeners of a workspace: by REST, and by the quota of namespaces on one machine. Each has an account, and most have a
 * pod.
 */
export const MAX_LISTENERS = 20;
