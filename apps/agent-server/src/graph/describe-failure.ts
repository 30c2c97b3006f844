import type { BuildFailure, Message } from 'esbuild';

/** `src/graph.ts:12:5: what is wrong`, columns counted from 1 as editors do. */
function describe({ location, text }: Message): string {
  return location ? `${location.file}:${location.line}:${location.column + 1}: ${text}` : text;
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors);
}

/** Errors that esbuild found, each with its place; undefined for any other error. */
export function describeFailure(error: unknown): string | undefined {
  return isBuildFailure(error) ? error.errors.map(describe).join('; ') : undefined;
}
