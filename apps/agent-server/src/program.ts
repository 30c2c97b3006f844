import { writeFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { errorText, TerminalError, WaitingError } from '#lib/errors';
import {
  boundHeapGrowth,
  EXIT,
  EXIT_DEPENDENCY_UNAVAILABLE,
  EXIT_GRAPH_LOAD_FAILED,
  formatTerminationMessage,
  runProgram,
  SPARE,
} from '#lib/lifecycle';
import { REASON } from '#lib/resources';
import { createLogger, readTelemetrySettings, startTelemetry } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { readServerConfig } from './config.js';
import { beginLoading, secretsOf } from './start/load-agent.js';
import { ParentReports } from './start/parent-reports.js';
import { becomeAgentServer } from './start/spare.js';

/**
 * Writes the reason to the file that the node reads. When the file cannot be written, only the log has it.
 */
function writeTerminationMessage(path: string, reason: string, message: string): void {
  try {
    writeFileSync(path, formatTerminationMessage({ reason, message }));
  } catch {
    // not on a node
  }
}

/** Has connections of this process trust certificates beside those that it trusts already. @param pem one or more */
function trustCertificates(pem: string): void {
  setDefaultCACertificates([...getCACertificates('default'), pem]);
}

/** Exit code and reason of a failed start, for the process that started this one. */
function endOf(error: unknown): { readonly exitCode: number; readonly reason: string; readonly why: string } {
  if (error instanceof TerminalError && error.reason === REASON.graphLoadFailed)
    return { exitCode: EXIT_GRAPH_LOAD_FAILED, reason: error.reason, why: 'graph failed to load' };
  if (error instanceof WaitingError)
    return { exitCode: EXIT_DEPENDENCY_UNAVAILABLE, reason: error.reason, why: 'dependency unavailable' };
  return { exitCode: EXIT.failed, reason: REASON.startFailed, why: 'start failed' };
}

const loadServer = (): Promise<typeof import('./agent-server.js')> => import('./agent-server.js');

async function useServerOnce(): Promise<void> {
  await loadServer();
  const { serveOnce } = await import('./http/serve-once.js');
  await serveOnce();
}

boundHeapGrowth();
const log = createLogger('agent-server');

// A promise that an agent forgot must not end the runs of others.
runProgram({ log, stopTimeoutMs: 25_000, unhandledRejections: 'log' }, async (context) => {
  const spareHost = process.argv.includes(SPARE)
    ? await becomeAgentServer(context, useServerOnce)
    : undefined;
  const config = readServerConfig();
  log.level = config.logLevel;
  if (config.trustedCa !== undefined) trustCertificates(config.trustedCa);
  const reports = new ParentReports(config.hasReports);
  context.own(
    await startTelemetry({
      program: 'agent-server',
      log,
      settings: readTelemetrySettings(undefined, 'AGENTPLANE_'),
    }),
  );
  try {
    // for an image that is a whole repository: the code of the agent finds its files relative to its folder
    process.chdir(config.agentFolder);
    const folder = process.cwd();
    const parts = { config, folder, reports, clock: systemClock, log, spareHost };
    const loading = beginLoading(parts);
    // a spare has loaded the server already
    if (!spareHost) await loading.begun;
    const { AgentServer } = await loadServer();
    const server = await AgentServer.start({ ...parts, loading });
    context.own({ name: 'agent-server', stop: () => server.stop() });
    reports.ready(server.port);
    log.info({ port: server.port, serverId: server.serverId }, 'ready');
  } catch (error) {
    const { exitCode, reason, why } = endOf(error);
    const message = secretsOf(config).hide(error instanceof TerminalError ? error.message : errorText(error));
    reports.failed(reason, message);
    writeTerminationMessage(config.terminationMessagePath, reason, message);
    if (exitCode === EXIT.failed) throw error;
    // a parent that gets reports shows them
    if (!config.hasReports) log.error({ error: message }, why);
    context.stop(exitCode, why);
  }
});
