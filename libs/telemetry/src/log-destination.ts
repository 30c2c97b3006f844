import pino from 'pino';

/** Lines that are kept for a file that takes none; more are dropped and counted. */
const MAX_WAITING_BYTES = 256 * 1024;

/** Destination of a logger, and the lines that it could not write. */
export interface LogDestination {
  readonly stream: pino.DestinationStream;
  /** Lines dropped since the file last took one. */
  readonly dropped: number;
  /** Calls back with the number of dropped lines once lines are written again. */
  onRecovered(listener: (dropped: number, problem: string) => void): void;
}

/**
 * A file whose failing writes never end the program: on a full disk every write throws, and a program that
 * ends for want of a log line takes work with it that needs no disk. Lines wait up to a limit, further ones
 * are dropped and counted, and the count is reported when the file takes lines again.
 */
export function openLogDestination(descriptor: number): LogDestination {
  const stream = pino.destination({ dest: descriptor, sync: true, maxLength: MAX_WAITING_BYTES });
  let dropped = 0;
  let problem: string | undefined;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    problem = error.code ?? error.message;
  });
  stream.on('drop', () => dropped++);
  return {
    stream,
    get dropped() {
      return dropped;
    },
    onRecovered(listener) {
      stream.on('write', () => {
        if (problem === undefined) return;
        const [count, cause] = [dropped, problem];
        dropped = 0;
        problem = undefined;
        // not within the write that just succeeded
        queueMicrotask(() => listener(count, cause));
      });
    },
  };
}
