import type { AgentDeployment } from '#lib/resources';
import type { IfMatch } from '../wire/if-match.js';

/** @throws PublicError when the deployment has changed since the version that the caller names */
export function requireMatch({ metadata }: AgentDeployment, ifMatch: IfMatch | undefined): void {
  ifMatch?.require(metadata.generation ?? 1);
}
