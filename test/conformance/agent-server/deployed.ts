import { waitFor } from '#lib/testing';
import { agentplane } from '../../cli/agentplane.js';
import { type Platform, startPlatform } from '../../support/platform.js';
import { Rest } from '../../support/rest.js';
import { GUARDED_AGENT } from '../../../apps/agent-server/testdata/start-server.js';
import { CONFORMANCE_AGENT, TUNED } from './replicas.js';
import type { Target } from './target.js';

/** Images of the two agents, which are the names of their deployments too. */
const IMAGE = 'conformance';
const GUARDED_IMAGE = 'guarded';
const DEPLOYED_WITHIN_MS = 180_000;

interface Deployment {
  readonly id: string;
  readonly latest_revision_id: string;
  readonly url?: string | null;
}

/** The agent of the suite as a platform runs it, reached through its Service. */
export interface DeployedAgent {
  readonly target: Target;
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/** What a deployment asks for beside its image. */
export interface Asked {
  readonly resourceSpec?: object;
  readonly secrets?: readonly { readonly name: string; readonly value: string }[];
}

/**
 * Starts a platform over an empty data folder and deploys both agents as a person would.
 * @param more further words of `agentplane up`
 */
export async function deployAgent(
  dataFolder: string,
  more: readonly string[] = [],
  { resourceSpec, secrets = [] }: Asked = {},
): Promise<DeployedAgent> {
  const platform = await startPlatform(dataFolder, { more });
  try {
    const tuned = Object.entries(TUNED).map(([name, value]) => ({ name, value }));
    const [url, guardedUrl] = await Promise.all([
      deployOn(platform, IMAGE, CONFORMANCE_AGENT, {
        secrets: [...tuned, ...secrets],
        ...(resourceSpec ? { resourceSpec } : {}),
      }),
      deployOn(platform, GUARDED_IMAGE, GUARDED_AGENT),
    ]);
    const target = { url, guardedUrl, headers: { 'x-api-key': platform.credentials.apiKey } };
    const { kubeconfig } = platform.credentials;
    return { target, kubeconfig, stop: async () => void (await platform.stop()) };
  } catch (error) {
    await platform.stop();
    throw error;
  }
}

/** The address of its Service. */
async function deployOn(
  { dataFolder, credentials }: Platform,
  image: string,
  folder: string,
  { resourceSpec, secrets = [] }: Asked = {},
): Promise<string> {
  const added = await agentplane(['image', 'add', image, folder, '--data', dataFolder]);
  if (added.code !== 0) throw new Error(`image add exited with ${added.code}: ${added.complaint}`);
  const rest = new Rest(credentials);
  const { body } = await rest.post<Deployment>('/v2/deployments', {
    name: image,
    source: 'internal_image',
    secrets,
    source_config: resourceSpec ? { resource_spec: resourceSpec } : {},
    source_revision_config: { image_uri: image },
  });
  return waitFor(
    async () => {
      const path = `/v2/deployments/${body.id}`;
      const { body: revision } = await rest.get<{ status: string; status_message?: string }>(
        `${path}/revisions/${body.latest_revision_id}`,
      );
      if (revision.status.endsWith('FAILED'))
        throw new Error(`${revision.status}: ${revision.status_message}`);
      if (revision.status !== 'DEPLOYED') return undefined;
      return (await rest.get<Deployment>(path)).body.url ?? undefined;
    },
    { what: `${image} to be deployed`, timeoutMs: DEPLOYED_WITHIN_MS },
  );
}
