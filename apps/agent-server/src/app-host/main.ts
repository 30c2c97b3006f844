// The process in which the HTTP app of an agent runs (`http.app`): beside the graphs and apart from them, so that an app
// that crashes or hangs charges no run, and a node that computes stops no request. It serves its server alone, over a
// pipe.
import { createServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { errorText, TerminalError } from '#lib/errors';
import { createLogger } from '#lib/telemetry';
import { systemClock } from '#lib/time';
import {
  CONTROL_HEADER,
  MOST_REQUESTS,
  REQUESTS_FD,
  SESSION_MEGABYTES,
  STREAM_WINDOW_BYTES,
  type AppOrder,
  type LoadedApp,
} from '../app-front/control.js';
import { loadModule } from '../graph/load-module.js';
import { offerLogger } from '../graph/offer-logger.js';
import { becomeHost } from '../host/host-process.js';
import { OwnServer } from '../host/own-server.js';
import { appOf, type AgentApp } from './agent-app.js';
import { answerByApp, passOn } from './app-requests.js';

const log = createLogger('agent-server');
const exit = becomeHost(log);
const ownServer = new OwnServer();
let app: AgentApp | undefined;

async function load({ folder, file, exportName, logLevel }: AppOrder): Promise<LoadedApp> {
  log.level = logLevel;
  offerLogger(log);
  const sources: string[] = [];
  const packages = new Set<string>();
  const seen = {
    sources: (files: readonly string[]) => sources.push(...files),
    package: (url: string) => packages.add(url),
  };
  const loaded = await loadModule(
    { setting: 'http.app', folder, file, exportName },
    { clock: systemClock, seen },
    (exported) => appOf(exported, (context) => passOn(context, ownServer)),
  );
  app = loaded;
  return { sources, packages: [...packages], paths: loaded.paths };
}

async function obey(order: string, asked: Http2ServerRequest, answer: Http2ServerResponse): Promise<void> {
  try {
    const body = JSON.parse(await text(asked)) as unknown;
    const result = order === 'load' ? await load(body as AppOrder) : ownServer.serves(String(body));
    answer.end(JSON.stringify(result ?? null));
  } catch (error) {
    answer.writeHead(422);
    answer.end(error instanceof TerminalError ? error.message : errorText(error));
  }
}

const server = createServer(
  {
    maxSessionMemory: SESSION_MEGABYTES,
    maxHeaderListPairs: 4_000,
    maxSendHeaderBlockLength: 2 ** 20,
    settings: {
      maxConcurrentStreams: 2 * MOST_REQUESTS,
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxHeaderListSize: 2 ** 20,
    },
  },
  (asked, answer) => {
    const order = asked.headers[CONTROL_HEADER];
    if (typeof order === 'string') return void obey(order, asked, answer);
    if (app) return void answerByApp(app, asked, answer, log);
    answer.writeHead(503).end();
    return undefined;
  },
);
server.on('session', (session) => {
  // the server is gone: no client waits for an answer any more
  session.once('close', () => exit(0));
});
server.emit('connection', new Socket({ fd: REQUESTS_FD, readable: true, writable: true }));
