import { EXPORT_METRICS, WORK_SECONDS } from './export-metrics.js';
import { catalogue } from './metric-definition.js';
import { PROGRAMS, type Program } from './program.js';

const RECONCILERS: readonly Program[] = ['controller', 'listener', 'embedded'];
const CONTROLLER = { about: 'name of the controller', max: 40 } as const;
const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'] as const;
/** Bounds from a cache hit to a request that waits for a graph. */
const REQUEST_SECONDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const;

/**
 * Every metric of the platform, once. `docs/reference/metrics.md` is generated from it, the accessors of
 * `metrics` are typed by it, and a program serves exactly those that name it. Labels hold words of the
 * platform only: no tenant, no user and no object is ever named, so that the number of series stays bounded
 * and a scrape reveals no one's activity.
 */
export const METRICS = catalogue({
  buildInfo: {
    kind: 'gauge',
    name: 'agentplane_build_info',
    help: 'Always 1; its labels name the program and the version of the platform.',
    labels: { program: PROGRAMS, version: { about: 'version of the platform', max: 1 } },
    merge: 'max',
    programs: PROGRAMS,
  },

  reconcilePasses: {
    kind: 'counter',
    name: 'agentplane_reconcile_passes_total',
    help: 'Passes over one object, by what became of them.',
    labels: {
      controller: CONTROLLER,
      outcome: ['done', 'after', 'wait', 'waiting', 'terminal', 'retry', 'conflict'],
    },
    programs: RECONCILERS,
  },
  reconcileErrors: {
    kind: 'counter',
    name: 'agentplane_reconcile_errors_total',
    help: 'Passes that failed and are retried with back-off, or need a person; conflicts are not counted.',
    labels: { controller: CONTROLLER },
    programs: RECONCILERS,
  },
  reconcileDuration: {
    kind: 'histogram',
    name: 'agentplane_reconcile_duration_seconds',
    help: 'Time of one pass over one object.',
    labels: { controller: CONTROLLER },
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60],
    programs: RECONCILERS,
  },
  reconcileQueueDepth: {
    kind: 'gauge',
    name: 'agentplane_reconcile_queue_depth',
    help: 'Keys that are due and wait for a worker.',
    labels: { controller: CONTROLLER },
    merge: 'sum',
    programs: RECONCILERS,
  },
  reconcileQueueAge: {
    kind: 'gauge',
    name: 'agentplane_reconcile_queue_oldest_seconds',
    help: 'How long the oldest due key has waited for a worker; 0 with an empty queue.',
    labels: { controller: CONTROLLER },
    merge: 'max',
    programs: RECONCILERS,
  },
  watchSilence: {
    kind: 'gauge',
    name: 'agentplane_watch_silence_seconds',
    help: 'Time since the quietest watch received anything; watches hear a bookmark each minute.',
    labels: {},
    merge: 'max',
    programs: RECONCILERS,
  },
  leader: {
    kind: 'gauge',
    name: 'agentplane_leader',
    help: '1 while this process leads and reconciles, 0 while it is a candidate.',
    labels: {},
    merge: 'max',
    programs: ['controller', 'listener'],
  },

  httpRequestDuration: {
    kind: 'histogram',
    name: 'agentplane_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its answer; a stream counts to its last event.',
    labels: {
      method: METHODS,
      route: { about: 'template of the route, `unmatched` for paths that no route serves', max: 200 },
      status_class: STATUS_CLASSES,
    },
    buckets: REQUEST_SECONDS,
    programs: ['api', 'agent-server'],
  },

  httpClientsCut: {
    kind: 'counter',
    name: 'agentplane_http_clients_cut_total',
    help: 'Connections ended because their client was too slow: it stopped sending a body, or did not read its answer for a time or read it too slowly (`answer`) or while too many bytes waited for it and others (`unread`), or it sent more and more requests without waiting for answers (`unanswered`).',
    labels: { slow_at: ['body', 'answer', 'unread', 'unanswered'] },
    programs: ['api', 'agent-server', 'controller', 'embedded'],
  },

  agentRunAttempts: {
    kind: 'counter',
    name: 'agentplane_agent_run_attempts_total',
    help: 'Attempts of runs that ended at this server, by outcome; a run that was handed back or lost has a later attempt.',
    labels: { outcome: ['success', 'interrupted', 'error', 'timeout', 'cancelled', 'handed_back', 'lost'] },
    programs: ['agent-server'],
  },
  agentRunDuration: {
    kind: 'histogram',
    name: 'agentplane_agent_run_duration_seconds',
    help: 'Time that the graph of one attempt of a run took.',
    labels: {},
    buckets: WORK_SECONDS,
    programs: ['agent-server'],
  },
  agentRunsInProgress: {
    kind: 'gauge',
    name: 'agentplane_agent_runs_in_progress',
    help: 'Runs that this server executes now.',
    labels: {},
    merge: 'sum',
    programs: ['agent-server'],
  },
  agentRunPlaces: {
    kind: 'gauge',
    name: 'agentplane_agent_run_places',
    help: 'Runs that this server may execute at once, as event loop and heap of its graph hosts are now; `N_JOBS_PER_WORKER` at most.',
    labels: {},
    merge: 'sum',
    programs: ['agent-server'],
  },
  agentRunsQueued: {
    kind: 'gauge',
    name: 'agentplane_agent_runs_queued',
    help: 'Runs that only wait for a free server: due, first on their thread; every server of a revision reports the same number.',
    labels: {},
    merge: 'max',
    programs: ['agent-server'],
  },
  agentStreamReaders: {
    kind: 'gauge',
    name: 'agentplane_agent_stream_readers',
    help: 'Callers that read the output of a run from this server now.',
    labels: {},
    merge: 'sum',
    programs: ['agent-server'],
  },

  agentUnsentBytes: {
    kind: 'gauge',
    name: 'agentplane_agent_unsent_bytes',
    help: 'Output that waits in memory until single clients read it, beside what the logs of runs hold for all readers.',
    labels: {},
    merge: 'sum',
    programs: ['agent-server'],
  },
  agentWebhookCalls: {
    kind: 'counter',
    name: 'agentplane_agent_webhook_calls_total',
    help: 'Calls of webhooks of ended runs, by outcome: `again` is followed by another attempt, `failed` is not.',
    labels: { outcome: ['delivered', 'again', 'failed'] },
    programs: ['agent-server'],
  },
  agentErasuresWaiting: {
    kind: 'gauge',
    name: 'agentplane_agent_trace_erasures_waiting',
    help: 'Traces and threads whose traces are still to be deleted at the platform; every server of a deployment reports the same number.',
    labels: {},
    merge: 'max',
    programs: ['agent-server'],
  },

  eventLoopLag: {
    kind: 'gauge',
    name: 'agentplane_event_loop_lag_seconds',
    help: 'How late a timer fired that was set when the scrape began: time for which a graph, or the server, held the thread.',
    labels: {},
    merge: 'max',
    programs: ['agent-server'],
  },
  eventLoopBusy: {
    kind: 'gauge',
    name: 'agentplane_event_loop_busy_ratio',
    help: 'Share of the time since the last scrape in which the thread worked, 0 to 1.',
    labels: {},
    merge: 'max',
    programs: ['agent-server'],
  },
  agentCronFires: {
    kind: 'counter',
    name: 'agentplane_agent_cron_fires_total',
    help: 'Moments at which a cron fired at this server: it made a run, or failed to.',
    labels: { outcome: ['run', 'failed'] },
    programs: ['agent-server'],
  },

  agentGraphHostEnds: {
    kind: 'counter',
    name: 'agentplane_agent_graph_host_ends_total',
    help: 'Ends of processes that run graphs, other than with their server: code of the agent ended or exhausted them.',
    labels: {},
    programs: ['agent-server'],
  },
  agentGraphHostSilence: {
    kind: 'gauge',
    name: 'agentplane_agent_graph_host_silence_seconds',
    help: 'Time since the quietest process that runs graphs was heard of; they report four times a second unless a node computes without a pause.',
    labels: {},
    merge: 'max',
    programs: ['agent-server'],
  },

  ingestOperations: {
    kind: 'counter',
    name: 'agentplane_ingest_operations_total',
    help: 'Creates (post) and updates (patch) of traced runs that were offered, also those then refused.',
    labels: { kind: ['post', 'patch'] },
    programs: ['api'],
  },
  ingestBytes: {
    kind: 'counter',
    name: 'agentplane_ingest_bytes_total',
    help: 'JSON bytes of the traced runs that were offered, after decompression.',
    labels: {},
    programs: ['api'],
  },
  ingestRefused: {
    kind: 'counter',
    name: 'agentplane_ingest_refused_total',
    help: 'Creates and updates of traced runs that were refused, by reason; `erased`: of a trace that was deleted, dropped without a word to the sender.',
    labels: {
      reason: [
        'invalid',
        'unknown_project',
        'too_many_projects',
        'outside_days',
        'waiting_room_full',
        'other_project',
        'erased',
      ],
    },
    programs: ['api'],
  },
  ingestDuration: {
    kind: 'histogram',
    name: 'agentplane_ingest_duration_seconds',
    help: 'Time to store one batch of traced runs.',
    labels: { outcome: ['stored', 'failed'] },
    buckets: REQUEST_SECONDS,
    programs: ['api'],
  },
  ingestWaitingPatches: {
    kind: 'gauge',
    name: 'agentplane_ingest_waiting_patches',
    help: 'Updates that wait for the create of their run; every api replica reports the same number.',
    labels: {},
    merge: 'max',
    programs: ['api'],
  },

  ...EXPORT_METRICS,

  kubeRequests: {
    kind: 'counter',
    name: 'agentplane_kube_requests_total',
    help: 'Requests to the embedded API server; resource is empty for paths that are none.',
    labels: {
      verb: { about: 'Kubernetes verb, or method of a path that is no resource', max: 20 },
      resource: { about: 'resource that the server knows, `unknown` for others', max: 120 },
      status_class: STATUS_CLASSES,
    },
    programs: ['embedded'],
  },
  kubeRequestDuration: {
    kind: 'histogram',
    name: 'agentplane_kube_request_duration_seconds',
    help: 'Time of requests to the embedded API server; watches are not measured.',
    labels: { verb: { about: 'Kubernetes verb, or method of a path that is no resource', max: 20 } },
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5],
    programs: ['embedded'],
  },
  kubeWatches: {
    kind: 'gauge',
    name: 'agentplane_kube_watches_open',
    help: 'Watches that clients of the embedded API server hold open.',
    labels: {},
    merge: 'sum',
    programs: ['embedded'],
  },
  kubeChangeLog: {
    kind: 'gauge',
    name: 'agentplane_kube_change_log_length',
    help: 'Changes that the embedded API server keeps for watches that resume.',
    labels: {},
    merge: 'sum',
    programs: ['embedded'],
  },
  objectStoreRequests: {
    kind: 'counter',
    name: 'agentplane_object_store_requests_total',
    help: 'Requests to the embedded object store.',
    labels: { method: METHODS, status_class: STATUS_CLASSES },
    programs: ['embedded'],
  },
  nodePods: {
    kind: 'gauge',
    name: 'agentplane_node_pods',
    help: 'Pods bound to this machine, by phase.',
    labels: { phase: ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'] },
    merge: 'sum',
    programs: ['embedded'],
  },
  wakeDuration: {
    kind: 'histogram',
    name: 'agentplane_wake_seconds',
    help: 'Time from what woke a sleeping deployment until all of its pods were ready.',
    labels: {},
    buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60],
    programs: ['listener'],
  },
  nodeSpares: {
    kind: 'gauge',
    name: 'agentplane_node_spares',
    help: 'Processes on this machine that have loaded an agent server and wait to become the container of a pod.',
    labels: {},
    merge: 'sum',
    programs: ['embedded'],
  },
  nodeSpareClaims: {
    kind: 'counter',
    name: 'agentplane_node_spare_claims_total',
    help: 'Starts of containers that could be a spare process: claimed one, missed it as none was ready, or failed to become one and started as usual.',
    labels: { outcome: ['claimed', 'missed', 'failed'] },
    programs: ['embedded'],
  },

  programUp: {
    kind: 'gauge',
    name: 'agentplane_program_up',
    help: '1 while the process of a program of the platform runs.',
    labels: { program: PROGRAMS },
    merge: 'max',
    programs: ['supervisor'],
  },
  programRestarts: {
    kind: 'counter',
    name: 'agentplane_program_restarts_total',
    help: 'Times a program ended by itself and was started again.',
    labels: { program: PROGRAMS },
    programs: ['supervisor'],
  },
});

export type MetricKey = keyof typeof METRICS;
