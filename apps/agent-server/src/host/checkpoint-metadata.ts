import { withoutCaller } from '../graph/configurable-of.js';
import type { AttemptedRun } from '../protocol/attempted-run.js';
import { documentBytes, MAX_DOCUMENT_BYTES } from '../store/document-bytes.js';
import { runIdentity } from './run-identity.js';

/** Metadata recorded with every checkpoint of a run. */
export function checkpointMetadata(run: AttemptedRun): Record<string, unknown> {
  const given: Record<string, unknown> = { ...withoutCaller(run.kwargs.config?.configurable ?? {}) };
  for (const key of Object.keys(given))
    if (key.startsWith('__') || key.startsWith('checkpoint_') || typeof given[key] === 'object')
      delete given[key];
  // every checkpoint has a copy: whole documents are for the run alone
  const recorded = documentBytes(given) > MAX_DOCUMENT_BYTES ? {} : given;
  return { ...recorded, ...run.metadata, ...runIdentity(run), run_attempt: run.attempt };
}
