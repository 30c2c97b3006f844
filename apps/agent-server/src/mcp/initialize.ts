import type { JsonObject } from '#lib/json';

/** Revisions of the protocol that this server speaks, newest first. */
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

export function isKnownVersion(version: string): boolean {
  return VERSIONS.some((known) => known === version);
}

/**
 * The answer to `initialize`: the client's revision when it is known, else the newest, which the client may
 * refuse.
 */
export function renderInitialized(params: JsonObject, serverVersion: string): JsonObject {
  const { protocolVersion: wanted } = params;
  return {
    protocolVersion: typeof wanted === 'string' && isKnownVersion(wanted) ? wanted : VERSIONS[0],
    capabilities: { tools: { listChanged: false } },
    serverInfo: { name: 'agentplane-agent-server', version: serverVersion },
  };
}
