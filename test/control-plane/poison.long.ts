import { waitFor } from '#lib/testing';
import { describe, expect, it } from '@jest/globals';
import {
  ANNOTATION,
  CONFIG_MAPS,
  DEPLOYMENTS,
  isConditionTrue,
  PODS,
  type ResourceRef,
  RESOURCES,
  SECRETS,
  SERVICES,
} from '#lib/resources';
import { NAMESPACE } from './control-plane.js';
import { at, testRollouts } from './rollout-plane.js';

/** What somebody may write where a program expects a number, a time, JSON or a name. */
const POISONS: readonly string[] = [
  '',
  'null',
  '{"a":',
  '[{"id":7,"at":{}}]',
  '9'.repeat(400),
  '2026-13-45T99:99:99Z',
  '9999-12-31T23:59:59Z',
  '../../etc/passwd',
  '__proto__',
  '\u0007\u001b[2J\r\n',
  '\ufffd\u{1f4a9}',
  'x'.repeat(8_000),
];

const NAMES = Object.values(ANNOTATION);
const annotated = (poison: string): object => ({
  metadata: { annotations: Object.fromEntries(NAMES.map((name) => [name, poison])) },
});
/** What a tenant may write, and what programs write for it. */
const KINDS: readonly ResourceRef[] = [
  RESOURCES.AgentDeployment,
  RESOURCES.AgentRevision,
  DEPLOYMENTS,
  SERVICES,
  PODS,
  SECRETS,
  CONFIG_MAPS,
];

describe('objects with nonsense in their annotations', () => {
  const rollouts = testRollouts();

  /** Every object of the deployments that are poisoned. */
  async function poisonAll(poison: string): Promise<number> {
    let written = 0;
    for (const ref of KINDS) {
      const { items } = await rollouts.plane.client.list(ref, { namespace: NAMESPACE });
      for (const { metadata } of items)
        if (metadata.name.startsWith('poison'))
          // some are refused by the API server, or removed at this moment
          await rollouts.plane.client.merge(ref, at(metadata.name), annotated(poison)).then(
            () => written++,
            () => undefined,
          );
    }
    return written;
  }

  it('stops neither controller nor listener, whatever is written where', async () => {
    await rollouts.deploy('poison');
    await rollouts.serve('poison', 1);
    await rollouts.deploy('poison-away');
    for (const poison of POISONS) expect(await poisonAll(poison)).toBeGreaterThan(5);
    for (const name of ['controller', 'listener'] as const)
      expect([name, rollouts.plane.program(name).isRunning]).toEqual([name, true]);
    await rollouts.deploy('healthy');
    await rollouts.serve('healthy', 1);
    await rollouts.change('healthy', 2);
    await rollouts.serve('healthy', 2);
    await waitFor(async () => {
      const { status } = await rollouts.plane.client.get(RESOURCES.AgentDeployment, at('healthy'));
      return isConditionTrue(status?.conditions, 'Ready');
    });
  });
});
