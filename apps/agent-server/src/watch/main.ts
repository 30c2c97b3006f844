// A thread beside the graphs of a host, which still runs when a graph lets nothing else run. It does two
// things: it ends the host when its server is gone, and it finds out where the host hangs.
import { writeSync } from 'node:fs';
import { Session, type Runtime } from 'node:inspector';
import { workerData } from 'node:worker_threads';
import { keepProcessAlive, systemClock } from '#lib/time';
import { WATCH_FD } from '../protocol/frame.js';

interface Watched {
  /** Counts up while the event loop of the host runs. */
  readonly beats: Int32Array;
  /** Process id of the server. */
  readonly server: number;
  /** Expression that answers, as JSON, the functions in progress, and their run. */
  readonly question: string;
}

const LOOK_MS = 500;
/** Time beyond that of a slow garbage collection. */
const HANGS_AFTER_MS = 5_000;

const { beats, server, question } = workerData as Watched;

/** Stops the host for a moment to read the functions that it executes, and their run. */
function lookInside(): void {
  const session = new Session();
  session.connectToMainThread();
  const leave = (): void => {
    session.post('Debugger.resume', () => {
      session.post('Debugger.disable', () => session.disconnect());
    });
  };
  session.once('Debugger.paused', ({ params }) => {
    const [top] = params.callFrames;
    if (!top) return leave();
    const expression = { callFrameId: top.callFrameId, expression: question, returnByValue: true };
    session.post(
      'Debugger.evaluateOnCallFrame',
      expression,
      (_error, answer?: { result: Runtime.RemoteObject }) => {
        const found: unknown = answer?.result.value;
        if (typeof found === 'string') writeSync(WATCH_FD, `${found}\n`);
        leave();
      },
    );
  });
  session.post('Debugger.enable');
  session.post('Debugger.pause');
}

let lastBeat = -1;
let aliveAtMs = systemClock.monotonicMs();
let isReported = false;

function look(): void {
  // another parent: the server was killed
  if (process.ppid !== server) process.kill(process.pid, 'SIGKILL');
  const beat = Atomics.load(beats, 0);
  const nowMs = systemClock.monotonicMs();
  if (beat !== lastBeat) {
    lastBeat = beat;
    aliveAtMs = nowMs;
    isReported = false;
  } else if (!isReported && nowMs - aliveAtMs > HANGS_AFTER_MS) {
    isReported = true;
    lookInside();
  }
}

function keepLooking(): void {
  look();
  systemClock.after(LOOK_MS, keepLooking);
}

keepProcessAlive();
keepLooking();
