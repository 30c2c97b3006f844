import type { JsonObject } from '#lib/json';
import { parseSend03 } from './parameters.js';
import { PUSH_03 } from './push-parameters.js';
import type { Artifact, Message, Part, Task, TaskEvent, TaskStatus } from './task.js';
import type { Wire } from './wire.js';

function renderPart(part: Part): JsonObject {
  if (part.kind !== 'file') return part;
  const { bytes, url, mediaType: mimeType, name } = part;
  const file = {
    ...(bytes === undefined ? { uri: url } : { bytes }),
    ...(mimeType ? { mimeType } : {}),
    ...(name ? { name } : {}),
  };
  return { kind: 'file', file };
}

function renderMessage({ parts, ...message }: Message): JsonObject {
  return { kind: 'message', ...message, parts: parts.map(renderPart) };
}

function renderStatus({ state, timestamp, message }: TaskStatus): JsonObject {
  return { state, timestamp, ...(message ? { message: renderMessage(message) } : {}) };
}

function renderArtifact({ artifactId, name, parts }: Artifact): JsonObject {
  return { artifactId, name, parts: parts.map(renderPart) };
}

function renderTask({ id, contextId, status, artifacts, history }: Task): JsonObject {
  return {
    kind: 'task',
    id,
    contextId,
    status: renderStatus(status),
    artifacts: artifacts.map(renderArtifact),
    history: history.map(renderMessage),
  };
}

function renderEvent(event: TaskEvent): JsonObject {
  if (event.kind === 'task') return renderTask(event.task);
  const { id: taskId, contextId } = event.of;
  if (event.kind === 'status')
    return {
      kind: 'status-update',
      taskId,
      contextId,
      status: renderStatus(event.status),
      final: event.isLast,
    };
  return {
    kind: 'artifact-update',
    taskId,
    contextId,
    artifact: renderArtifact(event.artifact),
    append: event.isAppended,
    lastChunk: event.isLastChunk,
  };
}

/** Protocol 0.3: methods with slashes, objects that name their kind. */
export const WIRE_03: Wire = {
  version: '0.3',
  methods: new Map([
    ['message/send', 'send'],
    ['message/stream', 'stream'],
    ['tasks/get', 'get'],
    ['tasks/cancel', 'cancel'],
    ['tasks/resubscribe', 'subscribe'],
    ['tasks/pushNotificationConfig/set', 'pushSet'],
    ['tasks/pushNotificationConfig/get', 'pushGet'],
    ['tasks/pushNotificationConfig/list', 'pushList'],
    ['tasks/pushNotificationConfig/delete', 'pushDelete'],
    ['agent/getAuthenticatedExtendedCard', 'extendedCard'],
  ]),
  parseSend: parseSend03,
  renderTask,
  renderSent: renderTask,
  push: PUSH_03,
  renderPushed: renderTask,
  renderEvent,
  renderErrorData: ({ violations }) => (violations.length > 0 ? { fieldViolations: violations } : undefined),
  restartsTasks: true,
  refusesFinished: false,
};
