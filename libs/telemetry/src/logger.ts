import pino from 'pino';
import { openLogDestination } from './log-destination.js';
import { currentScope } from './scope.js';

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
