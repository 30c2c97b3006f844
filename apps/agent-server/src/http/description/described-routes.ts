import { z } from 'zod';
import { RUN_INPUT } from '../../ag-ui/run-input.js';
import { CRON_SHAPES } from '../../cron/requested-cron.js';
import { requestedRun } from '../../run/requested-run.js';
import { ASSISTANT_SHAPES } from '../assistant-routes.js';
import { CANCEL_SHAPES } from '../cancel-routes.js';
import { ERASE_SHAPES } from '../erase-routes.js';
import { RUN_SHAPES } from '../run-routes.js';
import { STORE_SHAPES } from '../store-routes.js';
import { THREAD_STREAM_SHAPES } from '../thread-stream-routes.js';
import { THREAD_SHAPES } from '../thread-routes.js';
import { UPKEEP_SHAPES } from '../thread-upkeep.js';
import { UI_SHAPES } from '../ui-routes.js';

/** Purpose of a route, and the very shapes by which its requests are checked. */
export interface DescribedRoute {
  /** One line, without a full stop. */
  readonly about: string;
  readonly body?: z.ZodType;
  readonly query?: z.ZodObject;
  /** Form of the answer when it is no JSON document. */
  readonly answers?: 'events' | 'text' | 'page' | 'nothing';
}

const waits = z.object({
  wait: z.enum(['0', '1', 'true', 'false']).optional(),
  action: z.enum(['interrupt', 'rollback']).optional(),
  cancel_reason: z.string().max(1_000).optional(),
});
const leaves = z.object({ cancel_on_disconnect: z.enum(['0', '1', 'true', 'false']).optional() });
const depth = z.object({ xray: z.string().optional() });
const recursion = z.object({ recurse: z.enum(['true', 'false']).optional() });
const rpc = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).optional(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
});
const card = z.object({ assistant_id: z.string() });
const deletion = z.object({ delete_threads: z.enum(['true', 'false']).optional() });

/** Routes for runs of a thread and for runs without one, which have the same requests. */
function runRoutes(prefix: string, of: string): Readonly<Record<string, DescribedRoute>> {
  return {
    [`POST ${prefix}/runs`]: { about: `Start a run ${of}; answers before it ends`, body: requestedRun },
    [`POST ${prefix}/runs/wait`]: { about: `Start a run ${of} and wait for its output`, body: requestedRun },
    [`POST ${prefix}/runs/stream`]: {
      about: `Start a run ${of} and stream its output`,
      body: requestedRun,
      answers: 'events',
    },
    [`GET ${prefix}/runs/:run_id`]: { about: 'Get a run' },
    [`GET ${prefix}/runs/:run_id/join`]: { about: 'Wait for the output of a run', query: leaves },
    [`GET ${prefix}/runs/:run_id/stream`]: {
      about: 'Stream the output of a run from now on',
      query: RUN_SHAPES.joinModes.extend(leaves.shape),
      answers: 'events',
    },
    [`POST ${prefix}/runs/:run_id/cancel`]: { about: 'Cancel a run', query: waits },
  };
}

/** Every route of the server; one that is missing here fails a test. */
export const DESCRIBED_ROUTES: Readonly<Record<string, DescribedRoute>> = {
  'POST /assistants': {
    about: 'Create an assistant: a graph with settings',
    body: ASSISTANT_SHAPES.creation,
  },
  'POST /assistants/search': { about: 'List assistants', body: ASSISTANT_SHAPES.search },
  'POST /assistants/count': { about: 'Count assistants', body: ASSISTANT_SHAPES.matching },
  'GET /assistants/:assistant_id': { about: 'Get an assistant, by id or by the name of a graph' },
  'PATCH /assistants/:assistant_id': {
    about: 'Change an assistant as a new version',
    body: ASSISTANT_SHAPES.change,
  },
  'DELETE /assistants/:assistant_id': { about: 'Delete an assistant', query: deletion, answers: 'nothing' },
  'POST /assistants/:assistant_id/versions': {
    about: 'List the versions of an assistant',
    body: ASSISTANT_SHAPES.versions,
  },
  'POST /assistants/:assistant_id/latest': {
    about: 'Choose the version that serves',
    body: ASSISTANT_SHAPES.choice,
  },
  'GET /assistants/:assistant_id/graph': { about: 'Get nodes and edges', query: depth },
  'GET /assistants/:assistant_id/schemas': {
    about: 'Get the schemas of state, input, output, config and context',
  },
  'GET /assistants/:assistant_id/subgraphs': { about: 'Get the schemas of subgraphs', query: recursion },
  'GET /assistants/:assistant_id/subgraphs/:namespace': {
    about: 'Get the schemas of one subgraph',
    query: recursion,
  },

  'POST /threads': { about: 'Create a thread', body: THREAD_SHAPES.creation },
  'POST /threads/search': { about: 'List threads', body: THREAD_SHAPES.search },
  'POST /threads/count': { about: 'Count threads', body: THREAD_SHAPES.search },
  'GET /threads/:thread_id': { about: 'Get a thread', query: THREAD_SHAPES.inclusion },
  'GET /threads/:thread_id/storage': { about: 'Get the bytes that the states of a thread take' },
  'PATCH /threads/:thread_id': { about: "Merge into a thread's metadata", body: THREAD_SHAPES.change },
  'DELETE /threads/:thread_id': {
    about: 'Delete a thread with its runs and states, and with its traces where asked',
    query: ERASE_SHAPES.deletion,
    answers: 'nothing',
  },
  'POST /threads/erase': {
    about: 'Erase what metadata name: threads, runs, crons, traces, and items of namespaces',
    body: ERASE_SHAPES.erasing,
  },
  'POST /threads/:thread_id/copy': { about: 'Copy a thread' },
  'POST /threads/prune': {
    about: 'Delete threads, or all but their last states',
    body: UPKEEP_SHAPES.pruning,
  },
  'GET /threads/:thread_id/state': { about: 'Get the newest state', query: THREAD_SHAPES.stateAddress },
  'GET /threads/:thread_id/state/:checkpoint_id': {
    about: 'Get the state at a checkpoint',
    query: THREAD_SHAPES.stateAddress,
  },
  'POST /threads/:thread_id/state/checkpoint': {
    about: 'Get the state at a checkpoint',
    body: THREAD_SHAPES.stateQuery,
  },
  'POST /threads/:thread_id/state': {
    about: 'Change the state, as a node would',
    body: THREAD_SHAPES.update,
  },
  'PATCH /threads/:thread_id/state': {
    about: "Merge into a state's metadata",
    body: UPKEEP_SHAPES.statePatch,
  },
  'GET /threads/:thread_id/history': { about: 'List states, newest first', query: THREAD_SHAPES.history },
  'POST /threads/:thread_id/history': { about: 'List states, newest first', body: THREAD_SHAPES.history },

  'POST /threads/:thread_id/commands': {
    about: 'Command a thread: run.start, input.respond, state.get, agent.getTree',
    body: THREAD_STREAM_SHAPES.command,
  },
  'POST /threads/:thread_id/stream/events': {
    about: 'Follow what all runs of a thread say',
    body: THREAD_STREAM_SHAPES.eventRequest,
    answers: 'events',
  },
  'GET /threads/:thread_id/stream/events': {
    about: 'Command and follow a thread by a WebSocket (Upgrade: websocket)',
  },
  ...runRoutes('/threads/:thread_id', 'on a thread'),
  'GET /threads/:thread_id/stream': {
    about: 'Stream everything that happens on a thread from now on',
    query: RUN_SHAPES.threadModes,
    answers: 'events',
  },
  'GET /threads/:thread_id/runs': { about: 'List the runs of a thread', query: RUN_SHAPES.runList },
  'DELETE /threads/:thread_id/runs/:run_id': {
    about: 'Delete a run that has ended, and its trace where asked',
    query: ERASE_SHAPES.deletion,
    answers: 'nothing',
  },
  ...runRoutes('', 'without a thread'),
  'POST /runs/batch': { about: 'Start many runs without a thread', body: z.array(requestedRun).max(1_000) },
  'POST /runs/cancel': {
    about: 'Cancel many runs',
    body: CANCEL_SHAPES.cancellation,
    query: waits.omit({ wait: true }),
    answers: 'nothing',
  },

  'POST /runs/crons': { about: 'Create a cron: runs made again and again', body: CRON_SHAPES.creation },
  'POST /threads/:thread_id/runs/crons': { about: 'Create a cron on a thread', body: CRON_SHAPES.creation },
  'POST /runs/crons/search': { about: 'List crons', body: CRON_SHAPES.search },
  'POST /runs/crons/count': { about: 'Count crons', body: CRON_SHAPES.search },
  'GET /runs/crons/:cron_id': { about: 'Get a cron' },
  'PATCH /runs/crons/:cron_id': { about: 'Change a cron', body: CRON_SHAPES.change },
  'DELETE /runs/crons/:cron_id': { about: 'Delete a cron', answers: 'nothing' },

  'PUT /store/items': { about: 'Store an item', body: STORE_SHAPES.putting, answers: 'nothing' },
  'GET /store/items': { about: 'Get an item; null where there is none', query: STORE_SHAPES.named },
  'DELETE /store/items': { about: 'Delete an item', body: STORE_SHAPES.place, answers: 'nothing' },
  'POST /store/items/search': { about: 'List items below a namespace', body: STORE_SHAPES.searching },
  'POST /store/namespaces': { about: 'List namespaces', body: STORE_SHAPES.listing },

  'POST /a2a/:assistant_id': {
    about: 'Call an agent by A2A 0.3 or 1.0; message/stream and tasks/resubscribe answer server-sent events',
    body: rpc,
  },
  'GET /.well-known/agent-card.json': { about: 'Get the A2A card of an assistant', query: card },
  'GET /a2a/:assistant_id/.well-known/agent-card.json': { about: 'Get the A2A card of an assistant' },
  'POST /mcp': { about: 'Call assistants as tools of the Model Context Protocol', body: rpc },
  'GET /mcp': { about: 'Refused with 405: the server has no stream of its own' },
  'DELETE /mcp': { about: 'Refused with 404: there are no sessions' },

  'POST /ag-ui/:assistant_id': {
    about: 'Run an assistant for a page by AG-UI, on the thread that the body names',
    body: RUN_INPUT,
    answers: 'events',
  },

  'POST /ui/:assistant_id': {
    about: 'Get the HTML that shows a component of an agent in a page',
    body: UI_SHAPES.component,
    answers: 'page',
  },
  'GET /ui/:name/:file': { about: 'Get script or style of components', answers: 'text' },

  'GET /ok': { about: 'Whether the server takes work' },
  'GET /info': { about: 'Version, deployment and revision of the server' },
  'GET /metrics': {
    about: 'Numbers of this server for Prometheus',
    query: z.object({ format: z.enum(['prometheus', 'json']).optional() }),
    answers: 'text',
  },
  'GET /openapi.json': { about: 'This description' },
  'GET /docs': { about: 'A page that shows this description', answers: 'page' },
  'GET /chat': { about: 'A page to talk with the agent; takes a key where one is needed', answers: 'page' },
  'GET /chat/threads': { about: 'Threads as a page', answers: 'page' },
  'POST /chat/threads': { about: 'Begin a thread by a form, and lead to its page', answers: 'page' },
  'GET /chat/threads/:thread_id': { about: 'A thread as a page', answers: 'page' },
  'POST /chat/threads/:thread_id': {
    about: 'Say something in a thread by a form of its page',
    answers: 'page',
  },
};
