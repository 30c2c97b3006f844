import { spawn } from 'node:child_process';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { errorText } from '#lib/errors';
import { boundInterim, plainHttp } from '#lib/http';
import { sendSignal } from '#lib/process-identity';
import type { PodContainer, Probe } from '#lib/resources';
import { systemClock } from '#lib/time';
import { ProcessStarts } from '../pace.js';
import type { Launch } from '../user/launch.js';
import { spawnRequest, startFailure, type Tools } from '../user/spawn-request.js';

/** Undefined when the probe succeeded, else what was found. */
export type CheckResult = string | undefined;

/** Container that a probe checks. */
export interface ProbeTarget {
  readonly container: PodContainer;
  /** Container port → real port. */
  readonly ports: Readonly<Record<string, number>>;
  /** Launch of its process: commands are run the same way. */
  readonly launch: Launch;
  readonly tools: Tools;
}

/** Starts of all probes of this process, in a fifth of its time. */
const commandStarts = new ProcessStarts(systemClock, 4);

/**
 * One check of a container. A probe that cannot be made (its path is malformed) has failed.
 * @param timeoutMs from its begin; the time that a command is queued before does not count
 * @param left ends that wait: its reason is thrown then, and nothing else ever is
 */
export async function check(
  probe: Probe,
  target: ProbeTarget,
  timeoutMs: number,
  left?: AbortSignal,
): Promise<CheckResult> {
  const begin = (): { readonly looking: Promise<CheckResult> } => ({
    looking: beginLook(probe, target, timeoutMs),
  });
  const { looking } = probe.exec ? await commandStarts.start(target.launch.user.uid, begin, left) : begin();
  return await looking;
}

/** A command has been started when it returns. */
async function beginLook(probe: Probe, target: ProbeTarget, timeoutMs: number): Promise<CheckResult> {
  const tooLate = new AbortController();
  // a timeout may be any number of seconds, more than `AbortSignal.timeout` takes
  const cancel = systemClock.after(timeoutMs, () =>
    tooLate.abort(new Error(`not done within ${timeoutMs} ms`)),
  );
  try {
    return await look(probe, target, tooLate.signal);
  } catch (error) {
    return errorText(error);
  } finally {
    cancel();
  }
}

function look(probe: Probe, target: ProbeTarget, tooLate: AbortSignal): Promise<CheckResult> {
  if (probe.httpGet) return checkHttp(probe.httpGet, target, tooLate);
  if (probe.tcpSocket) return checkTcp(realPort(probe.tcpSocket.port, target), tooLate);
  if (probe.exec) return checkCommand(probe.exec.command, target, tooLate);
  return Promise.resolve('this kind of probe is not supported by the process runtime');
}

function realPort(port: number | string, { container, ports }: ProbeTarget): number {
  const number =
    typeof port === 'number'
      ? port
      : (container.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port));
  return ports[number] ?? number;
}

function checkHttp(
  get: NonNullable<Probe['httpGet']>,
  target: ProbeTarget,
  tooLate: AbortSignal,
): Promise<CheckResult> {
  const isTls = get.scheme === 'HTTPS';
  const path = get.path?.startsWith('/') ? get.path : `/${get.path ?? ''}`;
  return new Promise((resolve) => {
    const call = (isTls ? httpsRequest : plainHttp.request)({
      host: '127.0.0.1',
      port: realPort(get.port, target),
      path,
      agent: false,
      headers: { 'user-agent': 'kube-probe/agentplane', accept: '*/*' },
      signal: tooLate,
      ...(isTls ? { rejectUnauthorized: false } : {}),
    });
    boundInterim(call);
    call.on('response', (response) => {
      const { statusCode = 0 } = response;
      response.destroy();
      const isGood = statusCode >= 200 && statusCode < 400;
      resolve(isGood ? undefined : `HTTP probe failed with statuscode: ${statusCode}`);
    });
    call.on('error', (error) => resolve(`Get ${path}: ${error.message}`));
    call.end();
  });
}

function checkTcp(port: number, tooLate: AbortSignal): Promise<CheckResult> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const end = (result: CheckResult): void => {
      socket.destroy();
      resolve(result);
    };
    socket.on('connect', () => end(undefined));
    socket.on('error', (error) => end(error.message));
    tooLate.addEventListener(
      'abort',
      () => end(`no connection to port ${port}: ${errorText(tooLate.reason)}`),
      {
        once: true,
      },
    );
  });
}

function checkCommand(
  command: readonly string[],
  target: ProbeTarget,
  tooLate: AbortSignal,
): Promise<CheckResult> {
  const [program = '', ...words] = command;
  const launch = { ...target.launch, command: program, args: words };
  const request = spawnRequest(launch, target.tools);
  return new Promise((resolve) => {
    const child = spawn(request.command, request.args, {
      ...request.options,
      stdio: 'ignore',
      detached: true, // a group of its own, so that nothing of it outlives the look
    });
    const { pid } = child;
    const end = (): void => {
      try {
        if (pid !== undefined) sendSignal(pid, 'SIGKILL', true);
      } catch {
        // it took on the rights of another user (`sudo`): the look takes as long as it does
      }
    };
    child.on('error', (error) => resolve(startFailure(error, launch)));
    child.on('exit', (code) => {
      tooLate.removeEventListener('abort', end);
      end();
      resolve(code === 0 ? undefined : `the command exited with ${code ?? 'a signal'}`);
    });
    tooLate.addEventListener('abort', end, { once: true });
  });
}
