import { choice, flag, text } from '#lib/config';
import { LAKE_FIELDS } from '#lib/trace-store';

/** The one setting that is read first: what the program does. */
export const MODE = {
  isSealing: flag('AGENTPLANE_SEAL', 'whether the program seals days instead of exporting', {
    fallback: false,
  }),
};

/** Settings of the program when it seals days. */
export const CONFIG = {
  ...MODE,
  databaseUri: text('AGENTPLANE_DATABASE_URI', 'the trace store’s Postgres', { secret: true }),
  ...LAKE_FIELDS,
  logLevel: choice('AGENTPLANE_LOG_LEVEL', 'what is logged', ['debug', 'info', 'warn', 'error'], {
    fallback: 'info',
  }),
};
