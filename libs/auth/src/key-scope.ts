/**
 * Scope of a key.
 *
 * - `workspace`: everything of its workspace
 * - `deployment`: a deployment's own key: writes, reads and deletes the runs of its own tracing project
 * - `ingest`: writes runs, and reads nothing
 * - `read`: reads traces, projects, deployments and exports, and writes nothing
 * - `invoke`: calls agents, and nothing else
 *
 * Every key may ask for its own scope.
 */
export const KEY_SCOPES = ['workspace', 'deployment', 'ingest', 'read', 'invoke'] as const;

export type KeyScope = (typeof KEY_SCOPES)[number];

/** Scopes that a caller chooses from; a deployment's own key is made by the platform alone. */
export const CHOSEN_SCOPES = ['workspace', 'ingest', 'read', 'invoke'] as const satisfies readonly KeyScope[];

export type ChosenScope = (typeof CHOSEN_SCOPES)[number];
