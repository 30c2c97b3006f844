import { isJsonObject } from '#lib/json';
import {
  at,
  badRequest,
  invalid,
  type KubeObject,
  labelSelectorText,
  methodNotAllowed,
  modified,
  notFound,
  numberAt,
  recordAt,
  type ScalePaths,
  type ServedType,
  textAt,
} from '#lib/kube-semantics';
import { negotiate } from '../http/request-body.js';
import { json, type Reply, type RequestContext } from '../http/request-context.js';
import { asObject, readObject } from '../registry/body.js';
import type { ObjectService } from '../registry/object-service.js';
import { patched, readPatch } from '../registry/patch-body.js';
import { writeOptions } from '../registry/write-options.js';

const SCALE = { apiVersion: 'autoscaling/v1', kind: 'Scale' } as const;

/** `/scale`: replicas of any kind, read and written in one shape. */
export class ScaleHandler {
  constructor(private readonly objects: ObjectService) {}

  async handle(context: RequestContext, served: ServedType, paths: ScalePaths): Promise<Reply> {
    const { namespace, name, verb } = context.info;
    const target = { served, namespace: served.type.namespaced ? namespace : '', name };
    if (negotiate(context.headers.accept) === undefined) throw badRequest('scale is served as JSON only');
    if (verb === 'get') return json(scaleOf(this.objects.get(target).object, paths, served));
    if (verb !== 'update' && verb !== 'patch') throw methodNotAllowed();
    const options = writeOptions(context, verb === 'update' ? 'UpdateOptions' : 'PatchOptions');
    const wanted = verb === 'update' ? await this.#given(context) : await this.#patch(context);
    const change = (current: KubeObject): KubeObject => {
      const scale = scaleOf(current, paths, served);
      return withReplicas(current, paths, checkedReplicas(wanted(scale), current, served));
    };
    const result = await this.objects.update(target, change, { ...options, subresource: 'scale' });
    return json(scaleOf(result.object, paths, served));
  }

  async #given(context: RequestContext): Promise<(current: KubeObject) => KubeObject> {
    const body = await readObject(context);
    if (!body) throw badRequest('the request body is empty');
    const given = asObject(body, SCALE);
    return () => given;
  }

  async #patch(context: RequestContext): Promise<(current: KubeObject) => KubeObject> {
    const patch = await readPatch(context, { isCustom: false });
    if (patch.kind === 'apply') {
      const given = asObject(patch.body, SCALE);
      return () => given;
    }
    return (current) => asObject(patched({ group: 'autoscaling', kind: 'Scale' }, current, patch), SCALE);
  }
}

function checkedReplicas(scale: KubeObject, current: KubeObject, { type }: ServedType): number {
  const { resourceVersion, uid } = scale.metadata;
  const name = current.metadata.name ?? '';
  if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) throw modified(type, name);
  if (uid && uid !== current.metadata.uid) throw notFound(type, name);
  const replicas = at(scale, 'spec', 'replicas') ?? 0;
  if (typeof replicas !== 'number') throw badRequest('spec.replicas of a Scale must be a whole number');
  if (replicas >= 0) return replicas;
  const message = `Invalid value: ${replicas}: must be greater than or equal to 0`;
  throw invalid({ group: 'autoscaling', kind: 'Scale' }, name, [
    { reason: 'FieldValueInvalid', field: 'spec.replicas', message },
  ]);
}

function scaleOf(object: KubeObject, paths: ScalePaths, { type }: ServedType): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = paths.labelSelectorPath ? at(object, ...steps(paths.labelSelectorPath)) : undefined;
  const text = isJsonObject(selector) ? labelSelectorText(selector) : textAt({ selector }, ['selector']);
  const replicas = at(object, ...steps(paths.specReplicasPath));
  const isMissing = replicas === undefined && type.isCustom;
  return {
    ...SCALE,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: isMissing ? {} : { replicas: numberAt({ replicas }, ['replicas'], 1) },
    status: {
      replicas: numberAt(object, steps(paths.statusReplicasPath)),
      ...(text ? { selector: text } : {}),
    },
  };
}

function withReplicas(object: KubeObject, paths: ScalePaths, replicas: number): KubeObject {
  const changed = set(object, steps(paths.specReplicasPath), replicas);
  return { ...changed, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
}

function set(
  value: unknown,
  [step, ...rest]: readonly string[],
  item: unknown,
): Readonly<Record<string, unknown>> {
  const record = isJsonObject(value) ? value : {};
  if (step === undefined) return record;
  return { ...record, [step]: rest.length === 0 ? item : set(recordAt(record, step), rest, item) };
}

function steps(path: string): readonly string[] {
  return path.split('.').filter((step) => step !== '');
}
