import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import {
  becomeLaunched,
  EXIT,
  launchSpare,
  type ProgramContext,
  SPARE,
  spareReady,
  type SpareLaunch,
} from '#lib/lifecycle';
import { systemClock } from '#lib/time';
import { useCryptography } from './use-once.js';
import { endOfChild, type SpareHost, type StartedChild, NODE_PROGRAM } from '../hosting/child.js';

/** Descriptor of the channel that closes when the node dies. */
const NODE_FD = 3;
/** The node waits two seconds for the whole. */
const HOST_MS = 1_000;

/**
 * Loads this program and a graph host, waits until the node makes them the container of a pod, and becomes it with the
 * host. Nothing of the agent is read before both have taken on its user.
 * @param load imports the rest of this program and uses it once
 */
export async function becomeAgentServer(
  { stop }: ProgramContext,
  load: () => Promise<unknown>,
): Promise<SpareHost> {
  const host = new WaitingHost();
  await becomeLaunched({
    warm: async () => {
      await Promise.all([load(), useCryptography(), host.ready]);
    },
    before: (launch) => host.launch(launch),
  });
  const node = new Socket({ fd: NODE_FD, readable: true, writable: false });
  node.on('error', () => undefined);
  node.on('close', () => stop(EXIT.failed, 'parent process ended'));
  node.resume().unref();
  return host;
}

class WaitingHost implements SpareHost {
  readonly ready: Promise<void>;
  readonly #started: StartedChild;
  #isUsable = false;

  constructor() {
    const child = spawn(process.execPath, [...process.execArgv, NODE_PROGRAM, SPARE], {
      cwd: '/',
      stdio: ['ignore', 'inherit', 'pipe', 'pipe', 'pipe', 'ipc'],
    });
    this.#started = { child, ended: endOfChild(child, systemClock) };
    this.ready = spareReady(child);
  }

  /** A host that fails is killed while this process may still do so; another is started when it is needed. */
  async launch(launch: SpareLaunch): Promise<void> {
    const { child } = this.#started;
    const cancel = systemClock.after(HOST_MS, () => child.kill('SIGKILL'));
    try {
      await launchSpare(child, launch);
      this.#isUsable = true;
    } catch {
      child.kill('SIGKILL');
    } finally {
      cancel();
    }
  }

  take(): StartedChild | undefined {
    const { child } = this.#started;
    const isThere = this.#isUsable && child.exitCode === null && child.signalCode === null;
    this.#isUsable = false;
    return isThere ? this.#started : undefined;
  }
}
