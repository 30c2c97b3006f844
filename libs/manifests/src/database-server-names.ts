import { type AgentDeployment, COMPONENT, databaseServerName, LABEL, type Secret } from '#lib/resources';
import { wantedResourceSpec } from './deployment-types.js';
import { platformLabels } from './object-labels.js';
import { userMetadata } from './user-metadata.js';

/** Port of Postgres. */
export const DATABASE_PORT = 5432;

/** Selects the pod of a deployment's own Postgres server. */
export function serverSelector({ metadata }: AgentDeployment): Readonly<Record<string, string>> {
  return { [LABEL.databaseOf]: metadata.name, [LABEL.component]: COMPONENT.agentDatabase };
}

/**
 * Metadata of all objects of a server. The pod has none of the user's labels: a change of them would start
 * the server again.
 */
export function serverMetadata(deployment: AgentDeployment): Secret['metadata'] {
  const { labels, ...annotations } = userMetadata(wantedResourceSpec(deployment.spec));
  return {
    name: databaseServerName(deployment.metadata.name),
    namespace: deployment.metadata.namespace,
    labels: {
      ...labels,
      ...platformLabels(COMPONENT.agentDatabase, { [LABEL.databaseOf]: deployment.metadata.name }),
    },
    ...annotations,
  };
}
