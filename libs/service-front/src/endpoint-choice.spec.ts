import { describe, expect, it } from '@jest/globals';
import { FakeClock } from '#lib/testing';
import { EndpointChoice, MAX_WAITING } from './endpoint-choice.js';

const NONE: ReadonlySet<string> = new Set();

describe('EndpointChoice, while no pod is ready', () => {
  const stays = new AbortController().signal;

  function choiceOf(): { choice: EndpointChoice; clock: FakeClock; ports: number[]; looks: () => number } {
    const clock = new FakeClock();
    const ports: number[] = [];
    let looks = 0;
    const list = () => {
      looks++;
      return ports.map((port) => ({ pod: String(port), port }));
    };
    return { choice: new EndpointChoice(list, clock), clock, ports, looks: () => looks };
  }

  it('looks once for all that wait, and gives each a pod when one comes', async () => {
    const { choice, clock, ports, looks } = choiceOf();
    const waiting = Array.from({ length: 100 }, () => choice.choose(NONE, 5_000, stays));
    const before = looks();
    await clock.advance(1_000);
    expect(looks() - before).toBeLessThanOrEqual(41);
    ports.push(4000);
    await clock.advance(50);
    expect(new Set((await Promise.all(waiting)).map((found) => found?.port))).toEqual(new Set([4000]));
  });

  it('limits how many wait at a time', async () => {
    const { choice, clock } = choiceOf();
    const leaves = new AbortController();
    const waiting = Array.from({ length: MAX_WAITING }, () => choice.choose(NONE, 5_000, leaves.signal));
    expect(choice.isCrowded).toBe(true);
    expect(await choice.choose(NONE, 5_000, stays)).toBeUndefined();
    leaves.abort();
    await clock.advance(50);
    await Promise.all(waiting);
    expect(choice.isCrowded).toBe(false);
  });
});
