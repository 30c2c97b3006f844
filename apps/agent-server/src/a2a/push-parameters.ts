import { z } from 'zod';
import type { JsonObject } from '#lib/json';
import { optionalName, parse, text, withJsonNames } from './parameter-shapes.js';

/** Receiver of notifications about a task, as a client names it. */
export interface PushTarget {
  /** Undefined for the id of the task. */
  readonly id: string | undefined;
  readonly url: string;
  /** Sent as `X-A2A-Notification-Token`. */
  readonly token: string | undefined;
  /** Sent as `Authorization`. */
  readonly authentication: { readonly scheme: string; readonly credentials: string } | undefined;
}

/** A configuration as it is shown: without its token and credentials, which only its receiver gets. */
export interface ShownPush {
  readonly taskId: string;
  readonly id: string;
  readonly url: string;
  readonly scheme: string | undefined;
}

export interface PushParameters {
  readonly taskId: string;
  readonly target: PushTarget;
}

/** Names one configuration of a task, or all of them. */
export interface PushName {
  readonly taskId: string;
  readonly id: string | undefined;
}

/** Text that may be the value of a header. */
const headerValue = z
  .string()
  .max(4_096, 'must not be longer than 4096 characters')
  .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
  .nullish()
  .transform((given) => given || undefined);
const scheme = z
  .string()
  .max(100, 'must not be longer than 100 characters')
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a scheme of HTTP, for example Bearer');
const taskId = text.min(1, 'must not be empty');
const target = { id: optionalName, url: text, token: headerValue };
const CREDENTIALS = 'must be given: the server has no credentials of its own';
const push03 = z.looseObject({
  ...target,
  authentication: z
    .looseObject({
      schemes: z.array(scheme).min(1, 'must name a scheme').max(1, 'must name one scheme'),
      credentials: headerValue.refine((given) => given !== undefined, CREDENTIALS),
    })
    .nullish(),
});
const push10 = z.looseObject({
  ...target,
  authentication: z
    .looseObject({
      scheme,
      credentials: headerValue.refine((given) => given !== undefined, CREDENTIALS),
    })
    .nullish(),
});

function targetOf(
  {
    id,
    url,
    token,
  }: { readonly id: string | undefined; readonly url: string; readonly token: string | undefined },
  name: string | undefined,
  credentials: string | undefined,
): PushTarget {
  const isComplete = name !== undefined && credentials !== undefined;
  return { id, url, token, authentication: isComplete ? { scheme: name, credentials } : undefined };
}

function targetOf03(given: z.infer<typeof push03>): PushTarget {
  return targetOf(given, given.authentication?.schemes[0], given.authentication?.credentials);
}

function targetOf10(given: z.infer<typeof push10>): PushTarget {
  return targetOf(given, given.authentication?.scheme, given.authentication?.credentials);
}

/** The target in the configuration of a message of 0.3. */
export const inlinePush03 = push03.nullish().transform((given) => (given && targetOf03(given)) || undefined);

/** The target in the configuration of a message of 1.0. */
export const inlinePush10 = push10.nullish().transform((given) => (given && targetOf10(given)) || undefined);

const set03 = z.looseObject({ taskId, pushNotificationConfig: push03 });
const set10 = z.looseObject({ ...push10.shape, tenant: z.literal('').nullish(), taskId });
const name03 = z.looseObject({ id: taskId, pushNotificationConfigId: optionalName });
const name10 = z.looseObject({
  tenant: z.literal('').nullish(),
  taskId,
  id: optionalName,
  pageToken: z.literal('', 'must be empty: one page has them all').nullish(),
});

/** The methods of one version of the protocol that configure notifications. */
export interface PushWire {
  /** Media type of notifications. */
  readonly mediaType: string;
  /** @throws A2aError `invalidParams` */
  readonly parseSet: (params: unknown) => PushParameters;
  /** @throws A2aError `invalidParams` */
  readonly parseName: (params: unknown) => PushName;
  readonly render: (shown: ShownPush) => JsonObject;
  readonly renderList: (shown: readonly JsonObject[]) => unknown;
  /** Result of a deletion. */
  readonly deleted: JsonObject | null;
}

export const PUSH_03: PushWire = {
  mediaType: 'application/json',
  parseSet: (params) => {
    const given = parse(set03, params);
    return { taskId: given.taskId, target: targetOf03(given.pushNotificationConfig) };
  },
  parseName: (params) => {
    const { id, pushNotificationConfigId } = parse(name03, params);
    return { taskId: id, id: pushNotificationConfigId };
  },
  render: ({ taskId: of, id, url, scheme: name }) => {
    const authentication = name === undefined ? {} : { authentication: { schemes: [name] } };
    return { taskId: of, pushNotificationConfig: { id, url, ...authentication } };
  },
  renderList: (shown) => shown,
  deleted: null,
};

export const PUSH_10: PushWire = {
  mediaType: 'application/a2a+json',
  parseSet: (params) => {
    const given = parse(set10, withJsonNames(params));
    return { taskId: given.taskId, target: targetOf10(given) };
  },
  parseName: (params) => {
    const { taskId: of, id } = parse(name10, withJsonNames(params));
    return { taskId: of, id };
  },
  render: ({ taskId: of, id, url, scheme: name }) => {
    return { taskId: of, id, url, ...(name === undefined ? {} : { authentication: { scheme: name } }) };
  },
  renderList: (configs) => ({ configs, nextPageToken: '' }),
  deleted: {},
};
