import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import {
  type AgentDeploymentSpec,
  type AgentRevision,
  type Condition,
  DEPLOYMENTS,
  EVENTS,
  findCondition,
  idOf,
  LABEL,
  RESOURCES,
  type ResourceRef,
  SECRETS,
  SERVICES,
} from '#lib/resources';
import { waitFor } from '#lib/testing';
import { type ControlPlane, NAMESPACE, testControlPlane } from './control-plane.js';

export const at = (name: string) => ({ namespace: NAMESPACE, name });

/** How a container ends whose graph does not load. */
export const GRAPH_FAILS = {
  ready: false,
  state: { terminated: { exitCode: 78, message: '{"reason":"GraphLoadFailed","message":"no such file"}' } },
};

/** A control plane for the tests of one file, with what a person and a node do to deployments. */
export function testRollouts(): Rollouts {
  const start = testControlPlane();
  const rollouts = new Rollouts();
  beforeAll(async () => rollouts.start(await start()));
  afterAll(() => rollouts.stop());
  return rollouts;
}

class Rollouts {
  #plane: ControlPlane | undefined;

  start(plane: ControlPlane): void {
    this.#plane = plane;
  }

  async stop(): Promise<void> {
    await this.#plane?.stop();
  }

  get plane(): ControlPlane {
    if (!this.#plane) throw new Error('the control plane was not started');
    return this.#plane;
  }

  async restartListener(options: Parameters<ControlPlane['startListener']>[0] = {}): Promise<void> {
    await this.plane.program('listener').end('SIGTERM');
    await this.plane.startListener(options);
  }

  async deploy(name: string, spec: Partial<AgentDeploymentSpec> = {}): Promise<void> {
    await this.plane.client.create(RESOURCES.AgentDeployment, {
      metadata: at(name),
      spec: {
        source: 'external_image',
        sourceConfig: {},
        sourceRevisionConfig: { imageUri: 'example.org/agent:1' },
        suspend: false,
        revisionHistoryLimit: 10,
        minReadySeconds: 0,
        ...spec,
      },
    });
  }

  async change(name: string, image: number): Promise<void> {
    await this.plane.client.merge(RESOURCES.AgentDeployment, at(name), {
      spec: { sourceRevisionConfig: { imageUri: `example.org/agent:${image}` } },
    });
  }

  async suspend(name: string, isSuspended: boolean): Promise<void> {
    await this.plane.client.merge(RESOURCES.AgentDeployment, at(name), { spec: { suspend: isSuspended } });
  }

  /** Has the controller look at it again. */
  async touch(name: string): Promise<void> {
    await this.plane.client.merge(RESOURCES.AgentDeployment, at(name), {
      metadata: { annotations: { touched: 'yes' } },
    });
  }

  revision(name: string): Promise<AgentRevision> {
    return this.plane.client.get(RESOURCES.AgentRevision, at(name));
  }

  async revisions(name: string): Promise<readonly AgentRevision[]> {
    const { items } = await this.plane.client.list(RESOURCES.AgentRevision, { namespace: NAMESPACE });
    return items.filter(({ spec }) => spec.deploymentName === name);
  }

  /** What the Service names, and what it selects. */
  async target(name: string): Promise<readonly [string | undefined, string | undefined]> {
    const service = await this.plane.client.find(SERVICES, at(name));
    return [service?.metadata.labels?.[LABEL.revision], service?.spec.selector?.[LABEL.revision]];
  }

  async served(name: string): Promise<string | undefined> {
    return (await this.target(name))[1];
  }

  saying(name: string, type: string, reason: string): Promise<Condition> {
    return waitFor(
      async () => {
        const found = findCondition((await this.revision(name)).status?.conditions, type);
        return found?.reason === reason && found;
      },
      { what: `${name} to say ${type} ${reason}` },
    );
  }

  /** Reasons of everything that was told of a deployment or a revision. */
  async said(name: string): Promise<readonly (string | undefined)[]> {
    const fieldSelector = `involvedObject.name=${name}`;
    const { items } = await this.plane.client.list(EVENTS, { namespace: NAMESPACE, fieldSelector });
    return items.map(({ reason }) => reason);
  }

  /** The pods of a revision become ready, and it takes over. */
  async serve(name: string, number: number): Promise<void> {
    await this.plane.report(`${name}-0000${number}`, { ready: true });
    await waitFor(async () => (await this.served(name)) === `${name}-0000${number}`);
  }

  /** Asks for the revision of this number again, and waits until the repeat exists. */
  async rollBack(name: string, from: number, to: number): Promise<void> {
    const fromRevisionId = idOf(await this.revision(`${name}-0000${from}`));
    if (fromRevisionId === undefined) throw new Error(`${name}-0000${from} has no id`);
    await this.plane.client.merge(RESOURCES.AgentDeployment, at(name), {
      spec: { revisionRequest: { id: randomUUID(), fromRevisionId } },
    });
    await waitFor(() => this.plane.client.find(RESOURCES.AgentRevision, at(`${name}-0000${to}`)));
  }

  async deploymentsOf(name: string): Promise<readonly string[]> {
    const labelSelector = `${LABEL.deployment}=${name}`;
    const { items } = await this.plane.client.list(DEPLOYMENTS, { namespace: NAMESPACE, labelSelector });
    return items.map(({ metadata, spec }) => `${metadata.name}: ${spec.replicas}`);
  }

  /** Versions of everything that controller and listener write, once what still happens has come to rest. */
  async versionsAtRest(): Promise<Readonly<Record<string, string | undefined>>> {
    let last = '';
    let looks = 0;
    await waitFor(
      async () => {
        const now = JSON.stringify(await this.versions());
        looks = now === last ? looks + 1 : 0;
        last = now;
        return looks >= 4;
      },
      { intervalMs: 1000 },
    );
    return this.versions();
  }

  async versions(): Promise<Record<string, string | undefined>> {
    const found: Record<string, string | undefined> = {};
    const { AgentDeployment, AgentRevision, BulkExportDestination, Workspace } = RESOURCES;
    for (const ref of [AgentDeployment, AgentRevision, BulkExportDestination, Workspace])
      for (const { metadata } of (await this.plane.client.list(ref as typeof RESOURCES.Workspace)).items)
        found[`${ref.kind} ${metadata.name}`] = metadata.resourceVersion;
    const children: readonly ResourceRef[] = [DEPLOYMENTS, SERVICES, SECRETS];
    for (const ref of children)
      for (const { metadata } of (await this.plane.client.list(ref, { namespace: NAMESPACE })).items)
        found[`${ref.kind} ${metadata.name}`] = metadata.resourceVersion;
    return found;
  }

  /** @returns what was written by a controller and a listener that were started again and have passed over everything */
  async writtenByRestart(): Promise<readonly string[]> {
    const before = await this.versionsAtRest();
    for (const name of ['controller', 'listener'] as const) await this.plane.program(name).end('SIGTERM');
    await this.plane.startController();
    await this.plane.startListener();
    // whoever has done this has passed over all that was there before
    await this.deploy('marker');
    await this.serve('marker', 1);
    const after = await this.versions();
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
      (name) => !name.includes('marker') && before[name] !== after[name],
    );
  }
}
