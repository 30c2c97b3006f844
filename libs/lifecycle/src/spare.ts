import type { ChildProcess, SendHandle } from 'node:child_process';
import { replaceEnvironment } from '#lib/config';
import { adoptSocket } from '#lib/held-sockets';

/** Argument of a program that loads all that it can and then waits to be told what to run, and as whom. */
export const SPARE = '--spare';

/** The program that a spare becomes. */
export interface SpareLaunch {
  /** All variables, in place of those of its start. */
  readonly environment: Readonly<Record<string, string>>;
  /** Working folder, entered as the user. */
  readonly folder: string;
  /** Absent: it stays the user that it is. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** A listening socket and its port. */
export interface SpareSocket {
  readonly port: number;
  readonly handle: SendHandle;
}

type Said = { readonly kind: 'spare-ready' | 'spare-launched' };
type Told =
  | { readonly kind: 'spare-socket'; readonly port: number }
  | ({ readonly kind: 'spare-launch' } & SpareLaunch);

/** Resolves once the spare says so; rejects when it ends before. */
function heard(child: ChildProcess, kind: Said['kind']): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const listener = (message: Partial<Said> | null): void => {
    if (message?.kind === kind) resolve();
  };
  const ended = (): void => reject(new Error('the spare ended'));
  child.on('message', listener);
  child.once('exit', ended);
  child.once('error', reject);
  if (hasEnded(child)) ended();
  return promise.finally(() => {
    child.off('message', listener);
    child.off('exit', ended);
    child.off('error', reject);
  });
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Resolves when a spare has loaded; rejects when it ends before. */
export function spareReady(child: ChildProcess): Promise<void> {
  return heard(child, 'spare-ready');
}

/**
 * Tells a spare what to run. Resolves when it has become that and its channel is closed: what it writes from then on
 * is read no more. Code of others was not loaded by then, so that a failure may be followed by an ordinary start.
 */
export async function launchSpare(
  child: ChildProcess,
  launch: SpareLaunch,
  sockets: readonly SpareSocket[] = [],
): Promise<void> {
  const launched = heard(child, 'spare-launched');
  // an end is reported by `launched`
  const sent = (): void => undefined;
  for (const { port, handle } of sockets)
    child.send({ kind: 'spare-socket', port } satisfies Told, handle, {}, sent);
  child.send({ kind: 'spare-launch', ...launch } satisfies Told, undefined, {}, sent);
  await launched;
  // closed by the child alone: Node never reports the end of one whose channel its parent has closed
  if (child.connected) await new Promise<void>((resolve) => child.once('disconnect', () => resolve()));
  if (hasEnded(child)) throw new Error('the spare ended');
}

export interface SpareOptions {
  /** Loads what the program will need. */
  readonly warm: () => Promise<void>;
  /** Called before this process gives up its rights: it has its own spares become the same. */
  readonly before?: (launch: SpareLaunch) => Promise<void>;
  /** Ends this process. Default: that of Node. */
  readonly exit?: (code: number) => never;
}

/**
 * Waits as a spare, and becomes what the parent says: user without other groups, folder, variables, sockets. The process
 * ends when its parent does, and when it cannot become that.
 */
export async function becomeLaunched({ warm, before, exit = process.exit }: SpareOptions): Promise<void> {
  const told = Promise.withResolvers<SpareLaunch>();
  const listener = (message: Partial<Told> | null, handle: unknown): void => {
    if (message?.kind === 'spare-socket') adoptSocket(message.port ?? 0, handle);
    if (message?.kind === 'spare-launch') told.resolve(message as SpareLaunch);
  };
  const orphaned = (): never => exit(1);
  process.on('message', listener);
  process.on('disconnect', orphaned);
  await warm();
  await say('spare-ready');
  const launch = await told.promise;
  await before?.(launch);
  if (launch.user) becomeUser(launch.user);
  process.chdir(launch.folder);
  replaceEnvironment(launch.environment);
  process.off('message', listener);
  process.removeAllListeners('disconnect');
  await say('spare-launched');
  process.disconnect();
}

/** @throws Error when any right of the former user is left */
function becomeUser({ uid, gid }: { readonly uid: number; readonly gid: number }): void {
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
  try {
    process.setuid?.(0);
  } catch {
    return;
  }
  throw new Error(`the spare could not become user ${uid}`);
}

/** Resolves once it was sent, or cannot be: the parent is gone. */
function say(kind: Said['kind']): Promise<void> {
  return new Promise((resolve) => {
    if (!process.send) return resolve();
    process.send({ kind } satisfies Said, undefined, undefined, () => resolve());
  });
}
