import { existsSync } from 'node:fs';
import { type FlagsOf, type MIGRATE_RESOURCES } from '#lib/command-line';
import { KubeClient, loadKubeConnection } from '#lib/kube';
import { EXIT } from '#lib/lifecycle';
import { NAMESPACES, RESOURCES, type Workspace } from '#lib/resources';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { openSource } from '../backup/take/open-source.js';
import { startMachineKubernetes } from './machine-kubernetes.js';
import { decideCopies, readWorkspace, type WorkspaceContent } from './resources/decide-copies.js';
import { writeCopies } from './resources/write-copies.js';

type Flags = FlagsOf<typeof MIGRATE_RESOURCES.options>;

const log = createLogger('migrate', 'silent');
const FIELD_MANAGER = 'agentplane-migrate';
/** Every API server makes it at its first start, so its uid tells one server from another. */
const OLDEST_NAMESPACE = 'kube-system';

function usage(problem: string): number {
  process.stderr.write(`${problem}\n`);
  return EXIT.usage;
}

/** @throws Error which names the workspaces that there are */
function chosenWorkspaces(all: readonly Workspace[], name: string | undefined): readonly Workspace[] {
  const chosen = all.filter(({ metadata }) => name === undefined || metadata.name === name);
  if (chosen.length > 0) return chosen;
  const names = all.map(({ metadata }) => metadata.name).join(', ');
  throw new Error(
    name === undefined
      ? 'there is no workspace to copy'
      : `workspace ${name} does not exist there; choose one of: ${names}`,
  );
}

/** A cluster cannot run a folder of the image store, and where an agent comes from never changes. */
function refuseOwnImages(contents: readonly WorkspaceContent[]): void {
  const names = contents
    .flatMap(({ deployments }) => deployments)
    .filter(({ spec }) => spec.source === 'internal_image')
    .map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`);
  if (names.length > 0)
    throw new Error(
      `a cluster cannot pull the images of ${names.join(', ')}, which only this machine has; push them to a registry and name it with --image-prefix`,
    );
}

async function copyWorkspaces(from: KubeClient, to: KubeClient, flags: Flags): Promise<void> {
  const { uid = '' } = (await from.get(NAMESPACES, { name: OLDEST_NAMESPACE })).metadata;
  const { items } = await from.list(RESOURCES.Workspace);
  const chosen = chosenWorkspaces(items, flags.workspace);
  const contents: WorkspaceContent[] = [];
  for (const workspace of chosen) contents.push(await readWorkspace(from, workspace));
  if (!flags.back && flags.imagePrefix === undefined) refuseOwnImages(contents);
  for (const content of contents) {
    const { workspace } = content;
    const name = flags.as ?? workspace.metadata.name;
    const copies = decideCopies(content, { name, from: uid, imagePrefix: flags.imagePrefix });
    await writeCopies(to, copies, (what) => process.stderr.write(`${what}\n`));
    process.stdout.write(
      `Copied workspace ${workspace.metadata.name}${name === workspace.metadata.name ? '' : ` as ${name}`}: ${copies.objects.length} objects.\n`,
    );
    for (const note of copies.notes) process.stdout.write(`- ${note}\n`);
  }
}

/** `agentplane migrate resources`. */
export async function runMigrateResources(flags: Flags): Promise<number> {
  const { kubeconfig, data, back } = flags;
  if (kubeconfig === undefined)
    return usage('the other installation is missing: name its kubeconfig by --kubeconfig FILE');
  if (!existsSync(kubeconfig)) return usage(`${kubeconfig} does not exist; name a kubeconfig`);
  if (flags.as !== undefined && flags.workspace === undefined)
    return usage('--as names the copy of one workspace: name that by --workspace');
  if (back && flags.imagePrefix !== undefined)
    return usage('--image-prefix is for images of this machine, which --back does not copy');
  const source = await openSource(data, { clock: systemClock, log });
  try {
    if (source.isRunning)
      throw new Error(
        `the platform of ${source.paths.root} is running; stop it with "agentplane down" first: nothing may change during the copy`,
      );
    if (source.hasOwnCluster)
      throw new Error(`the resources of ${source.paths.root} are in a cluster already`);
    const options = { clock: systemClock, log, fieldManager: FIELD_MANAGER };
    const machine = await startMachineKubernetes(source, options);
    try {
      const connection = await loadKubeConnection({ kubeconfigPath: kubeconfig });
      const other = new KubeClient(connection, options);
      try {
        await (back
          ? copyWorkspaces(other, machine.client, flags)
          : copyWorkspaces(machine.client, other, flags));
      } finally {
        await other.close();
      }
    } finally {
      await machine.stop();
    }
    return EXIT.ok;
  } finally {
    await source.close();
  }
}
