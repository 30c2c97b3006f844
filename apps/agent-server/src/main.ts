import { errorText, TerminalError } from '#lib/errors';
import { runProgram } from '#lib/lifecycle';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import { AgentServer } from './agent-server.js';
import { readServerConfig } from './config.js';
import { EXIT_GRAPH_LOAD_FAILED, writeTerminationMessage } from './graph/graph-failure.js';

const log = createLogger('agent-server');

// A promise that an agent forgot must not end everybody's runs.
runProgram({ log, stopTimeoutMs: 25_000, unhandledRejections: 'log' }, async (context) => {
  const config = readServerConfig();
  log.level = config.logLevel;
  try {
    const server = await AgentServer.start({ config, folder: process.cwd(), clock: systemClock, log });
    context.own({ name: 'agent-server', stop: () => server.stop() });
    log.info({ port: server.port, serverId: server.serverId }, 'ready');
  } catch (error) {
    if (!(error instanceof TerminalError) || error.reason !== 'GraphLoadFailed') throw error;
    writeTerminationMessage(config.terminationMessagePath, error);
    log.error({ error: errorText(error) }, 'a graph did not load');
    context.stop(EXIT_GRAPH_LOAD_FAILED, 'a graph did not load');
  }
});
