import type { JsonObject } from '#lib/json';
import type { A2aError } from './envelope.js';
import { parseSend10 } from './parameters.js';
import { PUSH_10 } from './push-parameters.js';
import type { Artifact, Message, Part, Task, TaskEvent, TaskStatus } from './task.js';
import type { Wire } from './wire.js';

function renderPart(part: Part): JsonObject {
  if (part.kind === 'text') return { text: part.text, mediaType: 'text/plain' };
  if (part.kind === 'data') return { data: part.data, mediaType: 'application/json' };
  const { bytes, url, mediaType, name: filename } = part;
  return {
    ...(bytes === undefined ? { url } : { raw: bytes }),
    ...(mediaType ? { mediaType } : {}),
    ...(filename ? { filename } : {}),
  };
}

function renderMessage({ role, parts, ...rest }: Message): JsonObject {
  return { ...rest, role: role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT', parts: parts.map(renderPart) };
}

function renderStatus({ state, timestamp, message }: TaskStatus): JsonObject {
  return {
    state: `TASK_STATE_${state.toUpperCase().replaceAll('-', '_')}`,
    timestamp,
    ...(message ? { message: renderMessage(message) } : {}),
  };
}

function renderArtifact({ artifactId, name, parts }: Artifact): JsonObject {
  return { artifactId, name, parts: parts.map(renderPart) };
}

function renderTask({ id, contextId, status, artifacts, history }: Task): JsonObject {
  return {
    id,
    contextId,
    status: renderStatus(status),
    ...(artifacts.length > 0 ? { artifacts: artifacts.map(renderArtifact) } : {}),
    ...(history.length > 0 ? { history: history.map(renderMessage) } : {}),
  };
}

function renderEvent(event: TaskEvent): JsonObject {
  if (event.kind === 'task') return { task: renderTask(event.task) };
  const { id: taskId, contextId } = event.of;
  if (event.kind === 'status')
    return { statusUpdate: { taskId, contextId, status: renderStatus(event.status) } };
  const { artifact, isAppended: append, isLastChunk: lastChunk } = event;
  return { artifactUpdate: { taskId, contextId, artifact: renderArtifact(artifact), append, lastChunk } };
}

/** Error details as `google.rpc` has them. */
function renderErrorData({ reason, violations }: A2aError): unknown {
  if (violations.length > 0)
    return [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations }];
  const info = { reason, domain: 'a2a-protocol.org', metadata: {} };
  return [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', ...info }];
}

/** Protocol 1.0: methods in PascalCase, objects known by their members. */
export const WIRE_10: Wire = {
  version: '1.0',
  methods: new Map([
    ['SendMessage', 'send'],
    ['SendStreamingMessage', 'stream'],
    ['GetTask', 'get'],
    ['ListTasks', 'list'],
    ['CancelTask', 'cancel'],
    ['SubscribeToTask', 'subscribe'],
    ['CreateTaskPushNotificationConfig', 'pushSet'],
    ['GetTaskPushNotificationConfig', 'pushGet'],
    ['ListTaskPushNotificationConfigs', 'pushList'],
    ['DeleteTaskPushNotificationConfig', 'pushDelete'],
    ['GetExtendedAgentCard', 'extendedCard'],
  ]),
  parseSend: parseSend10,
  renderTask,
  renderSent: (task) => ({ task: renderTask(task) }),
  push: PUSH_10,
  renderPushed: (task) =>
    renderEvent(
      task.artifacts.length > 0
        ? { kind: 'task', task }
        : { kind: 'status', of: task, status: task.status, isLast: true },
    ),
  renderEvent,
  renderErrorData,
  restartsTasks: false,
  refusesFinished: true,
};
