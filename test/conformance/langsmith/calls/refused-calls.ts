import { randomUUID } from 'node:crypto';
import type { Client } from 'langsmith';
import { all } from '../world.js';
import type { Calls } from './run-calls.js';

const ID = randomUUID();
const HUB_NAME = 'none';
const NAME = 'box';

/** Resources of the client by name: their calls differ in paths alone, so that a list of arguments says all. */
type Reach = (client: Client) => unknown;

/** A method that is called with these arguments; a list is read to its end. */
function refused(reach: Reach, method: string, ...parameters: readonly unknown[]): Calls {
  return {
    [method]: async ({ client }) => {
      const of = reach(client) as Record<string, (...given: readonly unknown[]) => unknown>;
      const answer = of[method.split('.').at(-1) ?? '']?.(...parameters);
      if (answer === undefined) throw new Error(`the client has no method ${method}`);
      if (Symbol.asyncIterator in (answer as object)) return all(answer as AsyncIterable<unknown>);
      return answer;
    },
  };
}

const own: Reach = (client) => client;

const HUB: Calls = {
  ...refused(own, 'pullAgent', HUB_NAME),
  ...refused(own, 'pullSkill', HUB_NAME),
  ...refused(own, 'pushAgent', HUB_NAME, { files: {} }),
  ...refused(own, 'pushSkill', HUB_NAME, { files: {} }),
  ...refused(own, 'deleteAgent', HUB_NAME),
  ...refused(own, 'deleteSkill', HUB_NAME),
  ...refused(own, 'listAgents'),
  ...refused(own, 'listSkills'),
};

const queues: Reach = (client) => client.annotationQueues;
const queueRuns: Reach = (client) => client.annotationQueues.runs;
const queueItems: Reach = (client) => client.annotationQueues.items;

const QUEUES: Calls = {
  ...refused(own, 'listAnnotationQueues'),
  ...refused(own, 'createAnnotationQueue', { name: 'q' }),
  ...refused(own, 'readAnnotationQueue', ID),
  ...refused(own, 'updateAnnotationQueue', ID, { name: 'r' }),
  ...refused(own, 'deleteAnnotationQueue', ID),
  ...refused(own, 'addRunsToAnnotationQueue', ID, [ID]),
  ...refused(own, 'getRunFromAnnotationQueue', ID, 0),
  ...refused(own, 'listRunsFromAnnotationQueue', ID),
  ...refused(own, 'deleteRunFromAnnotationQueue', ID, ID),
  ...refused(own, 'getSizeFromAnnotationQueue', ID),
  ...refused(queues, 'annotationQueues.annotationQueues', { name: 'q' }),
  ...refused(queues, 'annotationQueues.createRunStatus', ID, { status: 'completed' }),
  ...refused(queues, 'annotationQueues.delete', ID),
  ...refused(queues, 'annotationQueues.export', ID, {}),
  ...refused(queues, 'annotationQueues.populate', { queue_id: ID, session_ids: [ID] }),
  ...refused(queues, 'annotationQueues.retrieve', ID),
  ...refused(queues, 'annotationQueues.retrieveAnnotationQueues', {}),
  ...refused(queues, 'annotationQueues.retrieveQueues', ID),
  ...refused(queues, 'annotationQueues.retrieveRun', 0, { queue_id: ID }),
  ...refused(queues, 'annotationQueues.retrieveSize', ID, {}),
  ...refused(queues, 'annotationQueues.retrieveTotalArchived', ID, {}),
  ...refused(queues, 'annotationQueues.retrieveTotalSize', ID),
  ...refused(queues, 'annotationQueues.update', ID, {}),
  ...refused(queueRuns, 'annotationQueues.runs.create', ID, { body: [ID] }),
  ...refused(queueRuns, 'annotationQueues.runs.createByKey', ID, { body: [] }),
  ...refused(queueRuns, 'annotationQueues.runs.deleteAll', ID, {}),
  ...refused(queueRuns, 'annotationQueues.runs.deleteQueue', ID, { queue_id: ID }),
  ...refused(queueRuns, 'annotationQueues.runs.list', ID, {}),
  ...refused(queueRuns, 'annotationQueues.runs.update', ID, { queue_id: ID }),
  ...refused(queueItems, 'annotationQueues.items.create', ID, { items: [] }),
  ...refused(queueItems, 'annotationQueues.items.createStatus', ID, { status: 'completed' }),
  ...refused(queueItems, 'annotationQueues.items.deleteAll', ID, {}),
  ...refused(queueItems, 'annotationQueues.items.list', ID, {}),
  ...refused(queueItems, 'annotationQueues.items.retrieveCount', ID, {}),
  ...refused(queueItems, 'annotationQueues.items.retrievePlacement', ID, { queue_id: ID }),
  ...refused(queueItems, 'annotationQueues.items.update', ID, { queue_id: ID }),
};

const evaluators: Reach = (client) => client.evaluators;

const EVALUATORS: Calls = {
  ...refused(evaluators, 'evaluators.bulkDelete', { evaluator_ids: [ID] }),
  ...refused(evaluators, 'evaluators.create', { name: 'e' }),
  ...refused(evaluators, 'evaluators.delete', ID),
  ...refused(evaluators, 'evaluators.list'),
  ...refused(evaluators, 'evaluators.retrieve', ID),
  ...refused(evaluators, 'evaluators.spend', { group_by: 'evaluator' }),
  ...refused(evaluators, 'evaluators.update', ID, {}),
};

const boxes: Reach = (client) => client.sandboxes.boxes;
const registries: Reach = (client) => client.sandboxes.registries;
const snapshots: Reach = (client) => client.sandboxes.snapshots;

const SANDBOXES: Calls = {
  ...refused(boxes, 'sandboxes.boxes.create', {}),
  ...refused(boxes, 'sandboxes.boxes.createSnapshot', NAME, {}),
  ...refused(boxes, 'sandboxes.boxes.delete', NAME),
  ...refused(boxes, 'sandboxes.boxes.generateDownloadURL', NAME, { path: '/a' }),
  ...refused(boxes, 'sandboxes.boxes.generateServiceURL', NAME, { port: 80 }),
  ...refused(boxes, 'sandboxes.boxes.getStatus', NAME),
  ...refused(boxes, 'sandboxes.boxes.list', {}),
  ...refused(boxes, 'sandboxes.boxes.retrieve', NAME),
  ...refused(boxes, 'sandboxes.boxes.start', NAME),
  ...refused(boxes, 'sandboxes.boxes.stop', NAME),
  ...refused(boxes, 'sandboxes.boxes.update', NAME, {}),
  ...refused(boxes, 'sandboxes.boxes.deleteServiceURL', NAME),
  ...refused(boxes, 'sandboxes.boxes.listServiceURLs', NAME),
  ...refused((client) => client.sandboxes, 'sandboxes.listUsageCosts', {}),
  ...refused(registries, 'sandboxes.registries.create', { name: NAME }),
  ...refused(registries, 'sandboxes.registries.delete', NAME),
  ...refused(registries, 'sandboxes.registries.list', {}),
  ...refused(registries, 'sandboxes.registries.retrieve', NAME),
  ...refused(registries, 'sandboxes.registries.update', NAME, {}),
  ...refused(snapshots, 'sandboxes.snapshots.create', { name: NAME }),
  ...refused(snapshots, 'sandboxes.snapshots.delete', ID),
  ...refused(snapshots, 'sandboxes.snapshots.list', {}),
  ...refused(snapshots, 'sandboxes.snapshots.retrieve', ID),
  ...refused(snapshots, 'sandboxes.snapshots.retrieveByName', NAME),
};

const agents: Reach = (client) => client.agents;
const sessions: Reach = (client) => client.sessions;
const examples: Reach = (client) => client.datasets.examples;
const threadShares: Reach = (client) => client.threads.share;
const RUNS = { project_ids: [ID] };

const RESOURCES: Calls = {
  ...refused(agents, 'agents.create', { name: NAME }),
  ...refused(agents, 'agents.delete', ID),
  ...refused(agents, 'agents.list'),
  ...refused(agents, 'agents.retrieve', ID),
  ...refused(agents, 'agents.update', ID, {}),
  ...refused(sessions, 'sessions.dashboard', ID, {}),
  ...refused(sessions, 'sessions.listV2'),
  ...refused(sessions, 'sessions.resolve', { name: NAME }),
  ...refused((client) => client.datasets, 'datasets.listV2'),
  ...refused(examples, 'datasets.examples.delete', ID, { dataset_id: ID }),
  ...refused(examples, 'datasets.examples.updateMetadata', ID, { metadata: {} }),
  ...refused((client) => client.threads, 'threads.aggregateStats', {}),
  ...refused(threadShares, 'threads.share.create', ID, {}),
  ...refused(threadShares, 'threads.share.delete', ID, {}),
  ...refused(threadShares, 'threads.share.retrieve', ID, {}),
  ...refused((client) => client.runs.streaming, 'runs.streaming.queryV2', RUNS),
  ...refused((client) => client.runs.streaming, 'runs.streaming.queryV2Items', RUNS),
  ...refused((client) => client.threads.streaming, 'threads.streaming.query', RUNS),
  ...refused((client) => client.threads.streaming, 'threads.streaming.queryItems', RUNS),
  ...refused((client) => client.traces.streaming, 'traces.streaming.query', RUNS),
  ...refused((client) => client.traces.streaming, 'traces.streaming.queryItems', RUNS),
};

/** Calls that the api refuses. */
export const REFUSED: Calls = {
  ...RESOURCES,
  ...HUB,
  ...QUEUES,
  ...EVALUATORS,
  ...SANDBOXES,
};
