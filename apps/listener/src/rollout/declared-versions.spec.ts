import { COMPONENT, LABEL, type Pod } from '#lib/resources';
import { DeclaredVersions } from './hold-owners.js';
import { revision } from './testdata/sample-rollout.js';
import type { RolloutWorld } from './world.js';

const KEY = { namespace: 'ws', name: 'a' };

function pod(component: string, isReady: boolean): Pod {
  return {
    metadata: { name: `${component}-x`, labels: { [LABEL.component]: component } },
    spec: { containers: [] },
    status: { containerStatuses: [{ name: 'agent', ready: isReady }] },
  } as unknown as Pod;
}

function world(pods: readonly Pod[]): RolloutWorld {
  return { revisions: [{ ...revision({ number: 1 }), pods }] } as unknown as RolloutWorld;
}

/** Answers one after the other, and counts the asks. */
function placeOf(...answers: readonly (string | undefined)[]) {
  const place = {
    asks: 0,
    askVersion: () => Promise.resolve(answers[place.asks++]),
  };
  return place;
}

const READY = world([pod(COMPONENT.agentQueue, true), pod(COMPONENT.agentApi, true)]);

describe('DeclaredVersions', () => {
  const found = async (versions: DeclaredVersions, given: RolloutWorld, place: ReturnType<typeof placeOf>) =>
    (await versions.look(KEY, given, place)).revisions[0]?.imageVersion;

  it('asks a ready pod once, and keeps what it declares', async () => {
    const versions = new DeclaredVersions();
    const place = placeOf('0.4.21', 'another');
    expect(await found(versions, READY, place)).toBe('0.4.21');
    expect(await found(versions, READY, place)).toBe('0.4.21');
    expect(await found(versions, world([]), place)).toBe('0.4.21');
    expect(place.asks).toBe(1);
  });

  it('asks neither pods that are not ready nor those that only take runs', async () => {
    const place = placeOf('0.4.21');
    const pods = [pod(COMPONENT.agentApi, false), pod(COMPONENT.agentQueue, true)];
    expect(await found(new DeclaredVersions(), world(pods), place)).toBeUndefined();
    expect(place.asks).toBe(0);
  });

  it('asks five times where nothing is declared, and no more', async () => {
    const versions = new DeclaredVersions();
    const place = placeOf();
    for (let pass = 0; pass < 8; pass++) expect(await found(versions, READY, place)).toBeUndefined();
    expect(place.asks).toBe(5);
  });

  it('asks again about a deployment that was made anew', async () => {
    const versions = new DeclaredVersions();
    const place = placeOf('1', '2');
    await found(versions, READY, place);
    versions.forget(KEY);
    expect(await found(versions, READY, place)).toBe('2');
  });
});
