import pino from 'pino';

/** Structured logger: `log.info({ deployment: name }, 'revision made')`. Variable text goes into fields, never into the message. */
export type Logger = pino.Logger;

const SECRET_PATHS = ['apiKey', 'password', 'secret', 'token', 'authorization', 'uri', 'connectionString'];

/**
 * The logger of a program: JSON lines on standard error, so that standard output stays free for results.
 * @param program word that names the program in every line
 * @param level `debug`, `info`, `warn`, `error` or `silent`
 * @param descriptor file descriptor to write to instead
 */
export function createLogger(program: string, level = 'info', descriptor = 2): Logger {
  return pino(
    {
      level,
      base: { program },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...SECRET_PATHS, ...SECRET_PATHS.map((path) => `*.${path}`)], censor: '[redacted]' },
      serializers: { err: pino.stdSerializers.err },
    },
    pino.destination({ dest: descriptor, sync: true }),
  );
}
