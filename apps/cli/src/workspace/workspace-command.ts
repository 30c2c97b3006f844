import { randomUUID } from 'node:crypto';
import { visibleLine, visibleText } from '#lib/command-line';
import type { KubeClient } from '#lib/kube';
import {
  CONDITION,
  DEFAULT_LISTENER,
  findCondition,
  RESOURCES,
  type Workspace,
  workspaceNamespace,
} from '#lib/resources';
import { workspaceLines } from '#lib/object-text';
import { readWorkspace, RestClient, type WorkspaceDetails } from '#lib/rest-client';
import { CommandError } from '../command-error.js';
import { withKube } from '../context/open-kube.js';
import { resolveTarget, type TargetFlags } from '../context/target.js';
import {
  isDocument,
  type OutputFormat,
  print,
  renderDocument,
  renderItems,
  type Shape,
} from '../output/print-items.js';
import { followObject } from '../waiting/follow-object.js';

export type Plan = Workspace['spec']['plan'];

export interface WorkspaceFlags extends TargetFlags {
  readonly plan: Plan | undefined;
  readonly displayName: string | undefined;
}

export interface CreateFlags extends WorkspaceFlags {
  readonly tenant: string | undefined;
  readonly listener: boolean;
  readonly timeout: number;
}

export interface DeleteFlags extends TargetFlags {
  readonly yes: boolean;
  readonly timeout: number;
}

const REF = RESOURCES.Workspace;

const SHAPE: Shape<Workspace> = {
  nameOf: ({ metadata }) => metadata.name,
  columns: [
    { heading: 'NAME', cell: ({ metadata }) => metadata.name },
    { heading: 'TENANT', cell: ({ spec }) => spec.tenantId },
    { heading: 'PLAN', cell: ({ spec }) => spec.plan },
    { heading: 'NAMESPACE', cell: ({ status }) => status?.namespace ?? '' },
    { heading: 'STATE', cell: stateOf },
    { heading: 'DISPLAY NAME', isWide: true, cell: ({ spec }) => spec.displayName ?? '' },
  ],
};

/** `agentplane workspace list`. */
export async function listWorkspaces({
  output,
  ...flags
}: TargetFlags & { readonly output: OutputFormat }): Promise<void> {
  await withKube(resolveTarget(flags), async ({ client }) => {
    const { items } = await client.list(REF);
    process.stdout.write(await renderItems(output, items, SHAPE));
  });
}

/** `agentplane workspace create NAME`: with the listener that starts its agents. */
export async function createWorkspace(name: string, flags: CreateFlags): Promise<void> {
  const { plan = 'enterprise', displayName, tenant = randomUUID(), listener, timeout } = flags;
  await withKube(resolveTarget(flags), async ({ client }) => {
    await client.create(REF, {
      metadata: { name },
      spec: { tenantId: tenant, plan, ...(displayName === undefined ? {} : { displayName }) },
    });
    const namespace = await waitUntilReady(client, name, timeout);
    if (listener)
      await client.create(RESOURCES.Listener, {
        metadata: { name: DEFAULT_LISTENER, namespace },
        spec: { computeType: 'cluster', computeId: 'local' },
      });
    print(`workspace ${name} is ready: tenant ${tenant}, namespace ${namespace}\n`);
    process.stderr.write(
      `"agentplane keys create NAME --workspace ${name}" makes a key for it, "agentplane deploy NAME -n ${namespace}" an agent.\n`,
    );
  });
}

/** `agentplane workspace set NAME`. */
export async function setWorkspace(name: string, flags: WorkspaceFlags): Promise<void> {
  const { plan, displayName } = flags;
  if (plan === undefined && displayName === undefined)
    throw new CommandError('usage', 'workspace set changes nothing: give --plan or --display-name');
  await withKube(resolveTarget(flags), async ({ client }) => {
    await getWorkspace(client, name);
    const spec = {
      ...(plan === undefined ? {} : { plan }),
      ...(displayName === undefined ? {} : { displayName }),
    };
    await client.merge(REF, { name }, { spec });
    print(`workspace ${name} changed\n`);
  });
}

/** `agentplane workspace delete NAME --yes`. */
export async function deleteWorkspace(name: string, { yes, timeout, ...flags }: DeleteFlags): Promise<void> {
  await withKube(resolveTarget(flags), async ({ client }) => {
    const { metadata } = await getWorkspace(client, name);
    const namespace = workspaceNamespace(name);
    if (!yes) {
      const { items: deployments } = await client.list(RESOURCES.AgentDeployment, { namespace });
      const { items: exports } = await client.list(RESOURCES.BulkExport, { namespace });
      throw new CommandError(
        'usage',
        `workspace ${name} was not deleted: it has ${deployments.length} deployments with their databases and ${exports.length} exports; they and all its traces, datasets, prompts and keys would be deleted for good (exported files stay); --yes deletes it`,
      );
    }
    await client.delete(REF, { name }, metadata.uid === undefined ? {} : { uid: metadata.uid });
    process.stderr.write(`Waiting until all of workspace ${name} has ended …\n`);
    for await (const found of followObject(client, REF, { name }, { timeoutMs: timeout }))
      if (!found) {
        print(`workspace ${name} deleted\n`);
        return;
      }
    throw new CommandError(
      'timedOut',
      `workspace ${name} is not deleted after ${timeout / 1000} s; it goes on, and "agentplane describe workspace ${name}" shows what holds it`,
    );
  });
}

async function waitUntilReady(client: KubeClient, name: string, timeoutMs: number): Promise<string> {
  let last = 'no controller has looked at it';
  for await (const found of followObject(client, REF, { name }, { timeoutMs })) {
    const ready = findCondition(found?.status?.conditions, CONDITION.ready);
    const namespace = found?.status?.namespace;
    if (ready?.status === 'True' && namespace !== undefined) return namespace;
    const message = ready?.message ?? last;
    if (message !== last) process.stderr.write(visibleText(`${name}: ${message}\n`));
    last = message;
  }
  throw new CommandError(
    'timedOut',
    `workspace ${name} is not ready after ${timeoutMs / 1000} s: ${last}; "agentplane describe workspace ${name}" shows its state`,
  );
}

async function getWorkspace(client: KubeClient, name: string): Promise<Workspace> {
  const found = await client.find(REF, { name });
  if (found) return found;
  throw new CommandError(
    'notFound',
    `workspace ${name} does not exist: "agentplane workspace list" lists them`,
  );
}

function stateOf({ metadata, status }: Workspace): string {
  if (metadata.deletionTimestamp !== undefined) return 'deleting';
  const ready = findCondition(status?.conditions, CONDITION.ready);
  return ready?.status === 'True' ? 'ready' : (ready?.reason ?? 'pending');
}

/** `agentplane workspace show`. */
export async function showWorkspace({
  output,
  ...flags
}: TargetFlags & { readonly output: OutputFormat }): Promise<void> {
  const rest = new RestClient(resolveTarget(flags).rest);
  process.stdout.write(await render(output, await readWorkspace(rest)));
}

async function render(format: OutputFormat, workspace: WorkspaceDetails): Promise<string> {
  if (isDocument(format)) return await renderDocument(format, workspace);
  if (format.kind === 'name') return `${visibleLine(workspace.name)}\n`;
  return `${workspaceLines(workspace).join('\n')}\n`;
}
