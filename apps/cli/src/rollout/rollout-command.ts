import { RestClient } from '#lib/rest-client';
import { systemClock } from '#lib/time';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import { type OutputFormat, print, renderItems, type Shape } from '../output/print-items.js';
import {
  type Deployment,
  FAILED,
  findRevision,
  formerRevision,
  readDeployment,
  readRevision,
  readRevisions,
  type RestWait,
  type Revision,
  waitForPods,
  waitForRevision,
  waitUntilServing,
} from './revisions.js';

export interface WaitFlags extends TargetFlags {
  readonly wait: boolean;
  readonly timeout: number;
}

/** Revision from which a new one is made. */
export type Origin = 'former' | 'latest';

type Listed = Revision & { readonly serves: boolean };

const SHAPE: Shape<Listed> = {
  nameOf: ({ id }) => id,
  columns: [
    { heading: '', cell: ({ serves }) => (serves ? '*' : '') },
    { heading: 'NAME', cell: ({ name }) => name ?? '' },
    { heading: 'ID', cell: ({ id }) => id },
    { heading: 'STATUS', cell: ({ status, archived }) => (archived ? `${status} (archived)` : status) },
    { heading: 'CREATED', cell: ({ created_at: at }) => at },
    { heading: 'SOURCE', cell: ({ source_revision_config: from }) => from.image_uri ?? from.repo_ref ?? '' },
    { heading: 'REASON', cell: ({ status_reason: reason }) => reason ?? '' },
    {
      heading: 'MESSAGE',
      isWide: true,
      cell: ({ status_message: text }) => (text ?? '').replaceAll('\n', ' '),
    },
  ],
};

function openRest(flags: TargetFlags): RestClient {
  return new RestClient(resolveTarget(flags).rest);
}

/** `agentplane revisions NAME`. */
export async function listRevisions(
  name: string,
  {
    output,
    limit,
    ...flags
  }: TargetFlags & { readonly output: OutputFormat; readonly limit: number | undefined },
): Promise<void> {
  const rest = openRest(flags);
  const deployment = await readDeployment(rest, name);
  const revisions = (await readRevisions(rest, deployment)).map((one) => ({
    ...one,
    serves: one.id === deployment.active_revision_id,
  }));
  process.stdout.write(await renderItems(output, revisions.slice(0, limit), SHAPE));
}

/** `agentplane rollback|redeploy NAME`: a new revision as an earlier one was. */
export async function makeRevisionFrom(
  origin: Origin,
  name: string,
  { revision, ...flags }: WaitFlags & { readonly revision: string | undefined },
): Promise<void> {
  const rest = openRest(flags);
  const deployment = await readDeployment(rest, name);
  refuseSuspended(deployment);
  const revisions = await readRevisions(rest, deployment);
  const from =
    revision === undefined
      ? originOf(origin, deployment, revisions)
      : findRevision(name, revisions, revision);
  const path = `/v2/deployments/${deployment.id}/revisions/${from.id}/redeploy`;
  const { latest_revision_id: made } = await rest.request<Deployment>('POST', path);
  if (made === null) throw new CommandError('failed', `deployment ${name} was deleted meanwhile`);
  print(`${deployment.name}: revision ${made} is made from ${from.id}\n`);
  if (from.archived) print(`${from.id} is archived: its variables are not kept, those of now are used\n`);
  await untilServing(rest, deployment, made, flags);
}

/** Waits for a revision, if that is wanted, and prints the address at which it serves. */
export async function untilServing(
  rest: RestClient,
  deployment: Deployment,
  revisionId: string | null,
  flags: WaitFlags,
): Promise<void> {
  if (!flags.wait || revisionId === null) return;
  await waitForRevision(waiting(rest, flags), deployment, revisionId);
  await printAddress(rest, deployment);
}

async function printAddress(rest: RestClient, { id, name }: Deployment): Promise<void> {
  const { url } = await readDeployment(rest, id);
  print(`${name} serves at ${url ?? 'no address yet'}\n`);
}

/** `agentplane restart NAME`: new pods of the revision that serves, as `kubectl rollout restart` makes them. */
export async function restart(
  name: string,
  { force, ...flags }: WaitFlags & { readonly force: boolean },
): Promise<void> {
  const target = resolveTarget(flags);
  const rest = new RestClient(target.rest);
  const deployment = await readDeployment(rest, name);
  refuseSuspended(deployment);
  const { latest_revision_id: latest, active_revision_id: active } = deployment;
  if (!force && latest !== null && active !== null && latest !== active) {
    const { status } = await readRevision(rest, deployment, latest);
    if (!FAILED.has(status) && status !== 'DEPLOYED')
      throw new CommandError(
        'failed',
        `deployment ${name} was not restarted: revision ${latest} is on its way (${status}); --force replaces the pods of the one that serves meanwhile`,
      );
  }
  await rest.request('POST', `/v2/deployments/${deployment.id}/restart`);
  print(`${deployment.name}: new pods replace those of the revision that serves\n`);
  if (!flags.wait || target.kubeconfig === undefined) return;
  await withKube(target, (kube) => waitForPods(kube, waiting(rest, flags), deployment));
  print(`${deployment.name} serves at ${deployment.url ?? 'no address yet'}\n`);
}

/** `agentplane suspend NAME`: its pods end; database, revisions and address stay. */
export async function suspend(name: string, flags: TargetFlags): Promise<void> {
  const rest = openRest(flags);
  const deployment = await readDeployment(rest, name);
  await rest.request('PATCH', `/v2/deployments/${deployment.id}`, { suspend: true });
  print(`${deployment.name} suspended: "agentplane resume ${deployment.name}" starts its pods again\n`);
}

/** `agentplane resume NAME`. */
export async function resume(name: string, flags: WaitFlags): Promise<void> {
  const rest = openRest(flags);
  const deployment = await readDeployment(rest, name);
  await rest.request('PATCH', `/v2/deployments/${deployment.id}`, { suspend: false });
  print(`${deployment.name} resumed\n`);
  if (!flags.wait) return;
  await waitUntilServing(waiting(rest, flags), deployment);
  await printAddress(rest, deployment);
}

function waiting(rest: RestClient, { timeout }: WaitFlags): RestWait {
  const onProgress = (message: string): boolean => process.stderr.write(`${message}\n`);
  return { rest, clock: systemClock, timeoutMs: timeout, onProgress };
}

function refuseSuspended({ name, status }: Deployment): void {
  if (status === 'UNUSED')
    throw new CommandError(
      'failed',
      `deployment ${name} is suspended: run "agentplane resume ${name}" first`,
    );
}

function originOf(origin: Origin, deployment: Deployment, revisions: readonly Revision[]): Revision {
  const { name } = deployment;
  switch (origin) {
    case 'former':
      return formerRevision(deployment, revisions);
    case 'latest': {
      const [latest] = revisions.filter(({ status }) => status !== 'SKIPPED');
      if (latest) return latest;
      throw new CommandError(
        'failed',
        `deployment ${name} has no revision yet: "agentplane events ${name}" shows why`,
      );
    }
    default:
      return origin satisfies never;
  }
}
