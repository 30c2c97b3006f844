import { TerminalError } from '#lib/errors';
import { EXIT_GRAPH_LOAD_FAILED, runProgram } from '#lib/lifecycle';
import { REASON } from '#lib/resources';
import { createLogger, readTelemetrySettings, startTelemetry } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { AgentServer, secretsOf } from './agent-server.js';
import { readServerConfig } from './config.js';
import { forbidExit } from './graph/forbid-exit.js';
import { writeTerminationMessage } from './graph/write-termination-message.js';

const log = createLogger('agent-server');

// A promise that an agent forgot must not end the runs of others.
runProgram({ log, stopTimeoutMs: 25_000, unhandledRejections: 'log' }, async (context) => {
  const config = readServerConfig();
  log.level = config.logLevel;
  context.own(
    await startTelemetry({
      program: 'agent-server',
      log,
      settings: readTelemetrySettings(undefined, 'AGENTPLANE_'),
    }),
  );
  context.signal.addEventListener('abort', forbidExit(), { once: true });
  try {
    const server = await AgentServer.start({ config, folder: process.cwd(), clock: systemClock, log });
    context.own({ name: 'agent-server', stop: () => server.stop() });
    log.info({ port: server.port, serverId: server.serverId }, 'ready');
  } catch (error) {
    if (!(error instanceof TerminalError) || error.reason !== REASON.graphLoadFailed) throw error;
    const message = secretsOf(config).hide(error.message);
    writeTerminationMessage(config.terminationMessagePath, error.reason, message);
    log.error({ error: message }, 'graph failed to load');
    context.stop(EXIT_GRAPH_LOAD_FAILED, 'graph failed to load');
  }
});
