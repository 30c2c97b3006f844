import { existsSync } from 'node:fs';
import type { Inheritance } from '#lib/held-sockets';
import type { Pod, PodContainer } from '#lib/resources';
import type { FoundImage, NodeContext } from '../context/node-context.js';
import type { PodFiles } from '../pod-files/pod-files.js';
import { ContainerConfigError } from '../pod-values/pod-field.js';
import { NODE_MARKER, POD_MARKER } from '../strays/process-status.js';
import { FIRST_SOCKET, type Launch } from '../user/launch.js';
import type { PodUser } from '../user/pod-user.js';
import { prepareMounts } from '../volume/prepare-mounts.js';
import type { Volume } from '../volume/volume.js';
import { Expander, References, resolveEnvironment } from './environment.js';
import { heapArguments } from './memory-limit.js';

/**
 * Each is a request of its own at every start, and all count for the one user that is the node for all pods.
 */
const MAX_OBJECTS = 100;

/** @throws ContainerConfigError when a container asks for more Secrets and ConfigMaps than any has that people write */
export function requireFewObjects(pod: Pod, container: PodContainer): void {
  const names = new Set([...ofVariables(container), ...ofVolumes(pod, container)]);
  if (names.size <= MAX_OBJECTS) return;
  throw new ContainerConfigError(
    `a container asks for ${names.size} different Secrets and ConfigMaps; the limit is ${MAX_OBJECTS}`,
  );
}

function* ofVariables({ env = [], envFrom = [] }: PodContainer): Iterable<string> {
  for (const { secretRef, configMapRef } of envFrom) {
    if (secretRef) yield `secret/${secretRef.name}`;
    if (configMapRef) yield `configmap/${configMapRef.name}`;
  }
  for (const { valueFrom } of env) {
    if (valueFrom?.secretKeyRef) yield `secret/${valueFrom.secretKeyRef.name}`;
    if (valueFrom?.configMapKeyRef) yield `configmap/${valueFrom.configMapKeyRef.name}`;
  }
}

function* ofVolumes({ spec }: Pod, { volumeMounts = [] }: PodContainer): Iterable<string> {
  const mounted = new Set(volumeMounts.map(({ name }) => name));
  for (const { name, secret, configMap, projected } of (spec.volumes ?? []) as readonly Volume[]) {
    if (!mounted.has(name)) continue;
    if (secret) yield `secret/${secret.secretName ?? ''}`;
    if (configMap) yield `configmap/${configMap.name ?? ''}`;
    for (const source of projected?.sources ?? []) {
      if (source.secret) yield `secret/${source.secret.name ?? ''}`;
      if (source.configMap) yield `configmap/${source.configMap.name ?? ''}`;
    }
  }
}

/** Everything that a pod has before any of its containers runs. */
export interface PodSurroundings {
  readonly user: PodUser;
  readonly files: PodFiles;
  /** Container port → real port. */
  readonly ports: Readonly<Record<string, number>>;
  /** Path of the kubeconfig of its service account. */
  readonly kubeconfig: string | undefined;
}

/** Everything that an attempt at a container has besides. */
export interface LaunchSurroundings extends PodSurroundings {
  /** Runs a step that blocks the node, once the queue reaches the pod's user. */
  readonly inTurn: <T>(step: () => T) => Promise<T>;
  /** Aborted when the container is to stop: queued steps are given up then. */
  readonly left: AbortSignal;
  /** Objects that are being read already. */
  readonly references: References | undefined;
}

/** The image that a container names is not on this machine, or not for its namespace: the two must look the same. */
export class ImageMissingError extends Error {
  override readonly name = 'ImageMissingError';
}

/**
 * Turns a container's spec into the program to start: the image's, or the spec's own command, in the image's
 * folder. Volumes appear in mounts of its own.
 * @throws ImageMissingError
 * @throws ContainerConfigError when its environment or working directory is missing now
 * @throws ExpansionError
 * @throws the reason of `left` when that is aborted while queued
 */
export async function prepareLaunch(
  context: NodeContext,
  pod: Pod,
  container: PodContainer,
  surroundings: LaunchSurroundings,
): Promise<Launch> {
  const { files, user, inTurn } = surroundings;
  const expander = new Expander();
  const resolving = context.images.resolve(container.image ?? '', {
    namespace: pod.metadata.namespace ?? '',
    gid: user.isOwn ? user.gid : undefined,
  });
  requireFewObjects(pod, container);
  // all at once: each waits for the disk, the API server or a process
  const rest = Promise.all([
    resolveEnvironment(
      surroundings.references ?? new References(context.client, pod.metadata.namespace ?? ''),
      pod,
      container,
      expander,
    ),
    holdSockets(context, container, surroundings),
  ]);
  rest.catch(() => undefined); // a missing image is said first
  const image = await resolving;
  if (!image) throw new ImageMissingError(missingImage(container.image ?? ''));
  const [wanted, sockets] = await rest;
  const environment = {
    ...context.environment,
    ...(user.isOwn ? ownPlaces(files) : {}),
    ...wanted,
    ...platformVariables(context, pod, container, surroundings),
    ...sockets.environment,
  };
  // without mounts, what a pod has left of volumes are folders of the machine
  const mounts =
    context.mountProblem === undefined
      ? await prepareMounts(pod, container, {
          client: context.client,
          files,
          user,
          inTurn,
          needed: neededPaths(context, image),
          expand: (text) => expander.expand(text, environment),
        })
      : undefined;
  const folder = container.workingDir ?? image.folder ?? files.workingFolder;
  // a pod with a user of its own gets the error from the kernel, which reveals nothing about closed folders
  const isJudgedAsUser = user.isOwn && container.workingDir !== undefined;
  if (!mounts && !isJudgedAsUser && !existsSync(folder))
    throw new ContainerConfigError(`working directory ${folder} does not exist on this machine`);
  const how = {
    folder,
    environment,
    user,
    isFolderNamed: container.workingDir !== undefined,
    noNewPrivileges: isEscalationOff(container),
    sockets: sockets.stdio,
    mounts,
  };
  if (!mounts && isJudgedAsUser && !context.tools.env)
    throw new ContainerConfigError(
      `workingDir ${folder} needs the command env of this machine; install coreutils`,
    );

  const args = (container.args ?? []).map((text) => expander.expand(text, environment));
  const [command, ...before] = (container.command ?? []).map((text) => expander.expand(text, environment));
  if (command !== undefined) return { command, args: [...before, ...args], ...how };
  const { command: node, args: flags } = context.runtime;
  const heap = heapArguments(container, environment);
  const isSparable = image.hasSpares === true && args.length === 0;
  return { command: node, args: [...flags, ...heap, image.entryPoint, ...args], isSparable, ...how };
}

/** The programs, and what variables of the machine name: folders of commands, certificates. */
function neededPaths({ runtime, environment }: NodeContext, image: FoundImage): readonly string[] {
  const { TMPDIR: _temporary, ...others } = environment;
  const named = Object.values(others).flatMap((value) => value.split(':'));
  return [image.entryPoint, image.folder ?? '', runtime.command, ...named];
}

/** The agent server listens while its graphs load, ends that, and listens once more. */
const SERVERS_OF_A_PORT = 2;

/**
 * Holds the ports of a container that runs the platform's own program, which takes what is held; another command listens
 * itself. A held port takes connections before its program does, so that a probe which only connects would see a server
 * too early. A port that cannot be held is left to the container, which says so, and has another port at its next attempt.
 */
async function holdSockets(
  { ports: { sockets } }: NodeContext,
  container: PodContainer,
  { user, left, ports: real }: LaunchSurroundings,
): Promise<Inheritance> {
  const { command = [], ports = [], startupProbe, readinessProbe, livenessProbe } = container;
  const isConnectedTo = [startupProbe, readinessProbe, livenessProbe].some((probe) => probe?.tcpSocket);
  const own = ports.flatMap(({ containerPort }) => real[containerPort] ?? []);
  if (command.length > 0 || isConnectedTo) {
    for (const port of own) sockets.release(port);
    return { stdio: [], environment: {} };
  }
  const addresses = own.map((port) => ({ host: '127.0.0.1', port }));
  await sockets.hold(addresses, { owner: user.uid, left });
  return sockets.inheritance(own, FIRST_SOCKET, SERVERS_OF_A_PORT);
}

/** The home and the temporary files of the node's user are closed to the pod's. */
function ownPlaces({ workingFolder }: PodFiles): Record<string, string> {
  return { HOME: workingFolder, USER: 'agent', LOGNAME: 'agent', TMPDIR: '/tmp' };
}

function isEscalationOff({ securityContext }: PodContainer): boolean {
  const { allowPrivilegeEscalation } = (securityContext ?? {}) as { allowPrivilegeEscalation?: boolean };
  return allowPrivilegeEscalation === false;
}

/** Last word over what the spec says: a process cannot choose where it lives on a shared machine. */
function platformVariables(
  context: NodeContext,
  pod: Pod,
  container: PodContainer,
  { files, ports, kubeconfig }: PodSurroundings,
): Record<string, string> {
  const [first] = container.ports ?? [];
  const port = first === undefined ? undefined : ports[first.containerPort];
  const others = Object.entries(ports).map(([from, to]) => [`AGENTPLANE_PORT_${from}`, String(to)]);
  return {
    HOST: '127.0.0.1',
    ...(port === undefined ? {} : { PORT: String(port) }),
    ...Object.fromEntries(others),
    ...(kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig }),
    TERMINATION_MESSAGE_PATH: files.terminationMessageFile(container.name),
    [NODE_MARKER]: context.podsFolder,
    [POD_MARKER]: pod.metadata.uid ?? '',
  };
}

/** Says how a local image comes here; the node cannot fetch any. */
function missingImage(image: string): string {
  const name = /^local\/([^@]+)/.exec(image)?.[1];
  const hint =
    name === undefined
      ? ', which pulls none'
      : `; add it with "agentplane image add ${name} FOLDER --deploy"`;
  return `image ${JSON.stringify(image)} does not exist on this machine${hint}`;
}
