import pino from 'pino';
import { currentScope } from './scope.js';

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

/** Structured logger: `log.info({ deployment: name }, 'revision made')`. Variable text goes into fields, never into the message. */
export type Logger = pino.Logger;

const SECRET_PATHS = ['apiKey', 'password', 'secret', 'token', 'authorization', 'uri', 'connectionString'];

/**
 * The logger of a program: JSON lines on standard error, so that standard output stays free for results. Each line carries
 * what its work belongs to: the id of the request, or controller, key and id of the reconcile pass.
 * @param program word that names the program in every line
 * @param level `debug`, `info`, `warn`, `error` or `silent`
 * @param descriptor file descriptor to write to instead
 */
export function createLogger(program: string, level = 'info', descriptor = 2): Logger {
  const destination = openLogDestination(descriptor);
  const log = pino(
    {
      level,
      base: { program },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...SECRET_PATHS, ...SECRET_PATHS.map((path) => `*.${path}`)], censor: '[redacted]' },
      serializers: { err: pino.stdSerializers.err },
      // a copy: pino adds the line's own fields to it
      mixin: () => ({ ...currentScope().fields }),
    },
    destination.stream,
  );
  destination.onRecovered((dropped, problem) =>
    log.warn({ dropped, problem }, 'writing log lines failed for a while; dropped lines are lost'),
  );
  return log;
}
