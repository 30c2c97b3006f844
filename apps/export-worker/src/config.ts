import { choice, type Config, flag, integer, json, optionalText, text } from '#lib/config';
import type { FollowingRun } from '#lib/export-plan';
import type { BulkExportRunSpec } from '#lib/resources';
import { LAKE_FIELDS } from '#lib/trace-store';

export const CONFIG = {
  databaseUri: text('AGENTPLANE_DATABASE_URI', 'the trace store’s Postgres', { secret: true }),
  runUid: text('AGENTPLANE_EXPORT_RUN_UID', 'uid of the BulkExportRun'),
  exportUid: optionalText(
    'AGENTPLANE_EXPORT_UID',
    'uid of the BulkExport of the runs, whose cancellation ends the attempt',
  ),
  traceParent: optionalText('TRACEPARENT', 'span of the controller that this attempt belongs to'),
  attempt: integer('AGENTPLANE_EXPORT_ATTEMPT', 'number of this attempt, from 1', { min: 1 }),
  spec: json<BulkExportRunSpec>('AGENTPLANE_EXPORT_SPEC', 'spec of the BulkExportRun, JSON'),
  following: json<readonly FollowingRun[]>(
    'AGENTPLANE_EXPORT_FOLLOWING',
    'runs with the same destination that are taken in turn after this one, each as attempt 1, JSON',
    { fallback: [] },
  ),
  takeForMs: integer(
    'AGENTPLANE_EXPORT_TAKE_FOR_MS',
    'no further run is begun once the process is this old, milliseconds',
    { fallback: 600_000 },
  ),
  accessKeyId: optionalText('AGENTPLANE_STORE_ACCESS_KEY_ID', 'key of the destination'),
  secretAccessKey: optionalText('AGENTPLANE_STORE_SECRET_ACCESS_KEY', 'secret of the destination', {
    secret: true,
  }),
  sessionToken: optionalText('AGENTPLANE_STORE_SESSION_TOKEN', 'session token of the destination', {
    secret: true,
  }),
  allowEnvironmentCredentials: flag(
    'AGENTPLANE_STORE_ENVIRONMENT_CREDENTIALS',
    'whether the worker’s own credentials serve where the destination has none',
    { fallback: false },
  ),
  allowPrivateEndpoints: flag(
    'AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS',
    'whether the destination may lead into private networks and to this machine',
    { fallback: false },
  ),
  fileBytes: integer(
    'AGENTPLANE_EXPORT_FILE_BYTES',
    'a file ends with the row group that passes this size, bytes',
    {
      fallback: 512 << 20,
      min: 1,
    },
  ),
  fileRows: integer(
    'AGENTPLANE_EXPORT_FILE_ROWS',
    'most rows of a file; bounds how long one snapshot lives',
    {
      fallback: 1_024_000,
      min: 1,
    },
  ),
  ...LAKE_FIELDS,
  logLevel: choice('AGENTPLANE_LOG_LEVEL', 'what is logged', ['debug', 'info', 'warn', 'error'], {
    fallback: 'info',
  }),
};

export type WorkerConfig = Config<typeof CONFIG>;
