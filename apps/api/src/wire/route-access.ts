/** Routes without a key, by their whole path. Everything else needs one. */
export const PUBLIC_PATHS: ReadonlySet<string> = new Set(['/ok', '/info', '/api/v1/info', '/openapi.json']);

/** What a deployment's own key may do: send and read traces, and ask whom it belongs to. */
const DEPLOYMENT_PATHS = /^(\/api\/v1)?\/(runs|sessions|feedback|auth\/verify)(\/|$)/;

/** Whether the key of a deployment may call this path. */
export function isForDeployments(path: string): boolean {
  return DEPLOYMENT_PATHS.test(path);
}
