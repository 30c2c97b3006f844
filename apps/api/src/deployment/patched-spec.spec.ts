import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { buildQueueDeployment, buildRevisionDeployment, wantedReplicas } from '#lib/manifests';
import type { AgentDeploymentSpec, AgentRevision, ResourceSpec } from '#lib/resources';
import { itLong } from '#lib/testing';
import type { CreateDeploymentRequest } from './deployment-request.js';
import { buildSpec, patchSpec } from './deployment-spec.js';
import type { ResourceSpecRequest } from './resource-spec-request.js';

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const cores = fc.integer({ min: 1, max: 80 }).map((tenths) => tenths / 10);
const memory = fc.integer({ min: 64, max: 4096 });
const scale = fc.integer({ min: 0, max: 5 });
const name = fc.constantFrom('a', 'b', 'c');
const names = fc.dictionary(name, name, { maxKeys: 3 });
const container = fc.record({ name, image: name, args: maybe(fc.array(name, { maxLength: 2 })) });
const containers = fc.array(container, { maxLength: 2 });

/** Any of the fields that change the running container, each with its own values. */
const resourceSpec: fc.Arbitrary<ResourceSpecRequest> = fc
  .record({
    min_scale: maybe(scale),
    max_scale: maybe(scale),
    queue_min_scale: maybe(scale),
    queue_max_scale: maybe(scale),
    cpu: maybe(cores),
    cpu_limit: maybe(cores),
    queue_cpu: maybe(cores),
    queue_cpu_limit: maybe(cores),
    memory_mb: maybe(memory),
    memory_limit_mb: maybe(memory),
    queue_memory_mb: maybe(memory),
    queue_memory_limit_mb: maybe(memory),
    labels: maybe(names),
    annotations: maybe(names),
    service_account_name: maybe(name),
    image_pull_secrets: maybe(fc.array(fc.record({ name }), { maxLength: 2 })),
    volumes: maybe(fc.array(fc.record({ name, emptyDir: fc.constant({}) }), { maxLength: 2 })),
    volume_mounts: maybe(fc.array(fc.record({ name, mountPath: name }), { maxLength: 2 })),
    init_containers: maybe(containers),
    sidecars: maybe(containers),
  })
  .map((fields) => fields as ResourceSpecRequest);

const LINKS = { revision: { id: 'r', at: '2026-05-01T00:00:00Z' }, secretName: undefined };

function created(resource_spec: ResourceSpecRequest): AgentDeploymentSpec {
  const request = {
    name: 'a',
    source: 'external_image',
    source_config: { resource_spec },
    source_revision_config: { image_uri: 'example.org/a:1' },
  } as CreateDeploymentRequest;
  return buildSpec(request, { ...LINKS, listenerName: undefined }) as AgentDeploymentSpec;
}

const patched = (spec: AgentDeploymentSpec, resource_spec: ResourceSpecRequest): AgentDeploymentSpec =>
  patchSpec(spec, { source_config: { resource_spec } }, LINKS);

/** The objects that the listener applies for a revision that is made of it. */
function builtOf(wanted: ResourceSpec | undefined): string {
  const revision = {
    metadata: { name: 'a-00001', namespace: 'ws', uid: 'u' },
    spec: {
      deploymentName: 'a',
      deploymentWireName: 'a',
      tenantId: 't',
      number: 1,
      listenerName: 'default',
      source: 'external_image',
      envSecretName: 'e',
      databaseSecretName: 'd',
      platformSecretName: 'p',
      ...(wanted ? { resourceSpec: wanted } : {}),
    },
    status: { image: 'example.org/a:1' },
  } as unknown as AgentRevision;
  const settings = { version: '1', apiUrl: 'http://api', addresses: 'cluster-dns' } as const;
  const replicas = wantedReplicas(revision);
  return JSON.stringify([
    buildRevisionDeployment(revision, replicas, settings, undefined),
    buildQueueDeployment(revision, replicas, settings, undefined),
  ]);
}

/**
 * Patches one resource spec to others and back: the result is the one that the way there would have given.
 */
function check([first, ...others]: readonly ResourceSpecRequest[]): boolean {
  if (!first) return false;
  const direct = created(first);
  const away = others.reduce(patched, direct);
  const back = patched(away, first);
  expect(back).toEqual(direct);
  const built = builtOf(direct.sourceConfig.resourceSpec);
  expect(builtOf(back.sourceConfig.resourceSpec)).toBe(built);
  return builtOf(away.sourceConfig.resourceSpec) !== built;
}

const transitions = fc.array(resourceSpec, { minLength: 2, maxLength: 4 });

describe('a deployment that is patched', () => {
  it('runs what its resource spec says, whatever it said before', () => {
    let changes = 0;
    fc.assert(
      fc.property(transitions, (specs) => void (changes += check(specs) ? 1 : 0)),
      { numRuns: 500 },
    );
    // most ways lead through something else
    expect(changes).toBeGreaterThan(400);
  });

  itLong('runs what its resource spec says after ten thousand ways', () => {
    fc.assert(
      fc.property(transitions, (specs) => void check(specs)),
      { numRuns: 10_000 },
    );
  });
});
