import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { ATTEMPT_MARKER } from '../strays/process-status.js';
import type { Launch } from '../user/launch.js';
import { spawnRequest, type Tools } from '../user/spawn-request.js';

/** Node takes this descriptor for the channel to its parent, as if its parent had made one. */
const CHANNEL = { NODE_CHANNEL_FD: '3', NODE_CHANNEL_SERIALIZATION_MODE: 'json' };

/** A process of this node, and the attempt that its marker names. */
export interface StartedProcess {
  readonly child: ChildProcess;
  readonly attempt: string;
}

/** @throws Error when what the launch says cannot be handed to a process */
export function startProcess(launch: Launch, tools: Tools): StartedProcess {
  const attempt = randomUUID();
  const { command, args, options } = spawnRequest(launch, tools);
  const { [ATTEMPT_MARKER]: _claimed, ...others } = options.env ?? {};
  const child = spawn(command, args, {
    ...options,
    // the marker first: it is looked for in every process of the user
    env: { [ATTEMPT_MARKER]: attempt, ...others, ...(launch.sockets.includes('ipc') ? {} : CHANNEL) },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', ...launch.sockets],
    detached: true,
  });
  // it comes in a later round of the event loop, also where the rest of the caller throws
  child.on('error', () => undefined);
  return { child, attempt };
}
