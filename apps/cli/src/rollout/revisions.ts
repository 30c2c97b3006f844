import { isUuid } from '#lib/resources';
import type { RestRequests } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import { deploymentIdOf } from '../rest/deployment-id.js';

type Rest = RestRequests;

/** A deployment as the REST interface answers it, as far as rollouts need it. */
export interface Deployment {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  /** Reason of its condition Ready, which is `Ready` while it serves as asked for. */
  readonly status_reason: string | null;
  readonly status_message: string | null;
  readonly latest_revision_id: string | null;
  readonly active_revision_id: string | null;
  readonly url: string | null;
}

/** A revision as the REST interface answers it. */
export interface Revision {
  readonly id: string;
  readonly created_at: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly status_message: string | null;
  /** Past the limit of the history: its variables are not kept. */
  readonly archived?: boolean;
  readonly source_revision_config: {
    readonly image_uri: string | null;
    readonly repo_ref: string | null;
  };
}

const PAGE = 100;
/** Beginnings of ids that are shorter fit too many. */
const SHORTEST = 4;

/** @param name of a deployment, or its id @throws CommandError `notFound`, RestError */
export async function readDeployment(rest: Rest, name: string): Promise<Deployment> {
  return await rest.request<Deployment>('GET', `/v2/deployments/${await deploymentIdOf(rest, name)}`);
}

export async function readRevision(rest: Rest, { id }: Deployment, revisionId: string): Promise<Revision> {
  return await rest.request<Revision>('GET', `/v2/deployments/${id}/revisions/${revisionId}`);
}

/** The revisions that are kept, newest first. */
export async function readRevisions(rest: Rest, { id }: Deployment): Promise<readonly Revision[]> {
  const found: Revision[] = [];
  for (;;) {
    const path = `/v2/deployments/${id}/revisions?limit=${PAGE}&offset=${found.length}`;
    const { resources } = await rest.request<{ readonly resources: readonly Revision[] }>('GET', path);
    found.push(...resources);
    if (resources.length < PAGE) return found;
  }
}

/** The revision that a person means: by its id, or the beginning of it. @throws CommandError `notFound`, `usage` */
export function findRevision(name: string, revisions: readonly Revision[], wanted: string): Revision {
  const start = wanted.toLowerCase();
  const isWhole: boolean = isUuid(start);
  const found = revisions.filter(({ id }) =>
    isWhole ? id === start : start.length >= SHORTEST && id.startsWith(start),
  );
  const [only] = found;
  if (only && found.length === 1) return only;
  if (found.length > 1)
    throw new CommandError(
      'usage',
      `${found.length} revisions of ${name} begin with ${wanted}: give more of the id`,
    );
  throw new CommandError(
    'notFound',
    `deployment ${name} has no revision ${wanted}: "agentplane revisions ${name}" lists them`,
  );
}

/**
 * The revision that served before the present one, with its variables, which an archived one has not. @throws
 * CommandError `failed` without one
 */
export function formerRevision(
  { name, active_revision_id: active }: Deployment,
  revisions: readonly Revision[],
): Revision {
  const at = revisions.findIndex(({ id }) => id === active);
  const former = revisions.slice(at + 1).find(({ status, archived }) => status === 'DEPLOYED' && !archived);
  if (former) return former;
  throw new CommandError(
    'failed',
    `deployment ${name} has no earlier revision that served and is not archived: "agentplane revisions ${name}" lists all, "--revision" names one`,
  );
}
