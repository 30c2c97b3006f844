import { randomUUID } from 'node:crypto';

/** The body of a request that makes a deployment of the sample agent, under a name of its own. */
export function deploymentBody(over: object = {}): object {
  return {
    name: `agent-${randomUUID().slice(0, 8)}`,
    source: 'internal_image',
    source_config: {},
    source_revision_config: { image_uri: 'sample-agent' },
    secrets: [],
    ...over,
  };
}
