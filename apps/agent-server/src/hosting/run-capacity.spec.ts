import { RunCapacity } from './graph-process.js';

const IDLE = { lagMs: 1, heapShare: 0.1 };

/** A capacity whose runs only wait for models. */
function grown(most = 100): RunCapacity {
  const capacity = new RunCapacity(most);
  for (let n = 0; n < 10; n++) capacity.answered(20, capacity.places);
  return capacity;
}

describe('RunCapacity', () => {
  it('doubles with each quick answer while its places are used, up to the setting', () => {
    const capacity = new RunCapacity(64);
    const seen = [capacity.places];
    while (capacity.answered(20, capacity.places)) seen.push(capacity.places);
    expect(seen).toEqual([10, 20, 40, 64]);
  });

  it('stays at a setting below ten', () => {
    expect(grown(1).places).toBe(1);
  });

  const refusals: [string, (capacity: RunCapacity) => void][] = [
    ['answers late', (capacity) => capacity.answered(500, 10)],
    ['has free places', (capacity) => capacity.answered(20, 3)],
    [
      'computes',
      (capacity) => void (capacity.reported({ ...IDLE, lagMs: 80 }, 10), capacity.answered(20, 10)),
    ],
    [
      'lacks memory',
      (capacity) => void (capacity.reported({ ...IDLE, heapShare: 0.8 }, 10), capacity.answered(20, 10)),
    ],
  ];
  it.each(refusals)('gives a host that %s no more than ten', (_title, act) => {
    const capacity = new RunCapacity(100);
    act(capacity);
    expect(capacity.places).toBe(10);
  });

  it.each([
    ['whose timers are late', { ...IDLE, lagMs: 400 }],
    ['whose heap is full', { ...IDLE, heapShare: 0.9 }],
  ])('takes places from a host %s, down to ten', (_title, load) => {
    const capacity = grown();
    capacity.reported(load, 100);
    expect(capacity.places).toBe(75);
    for (let n = 0; n < 20; n++) capacity.reported(load, capacity.places);
    expect(capacity.places).toBe(10);
  });

  it('forgets places that stay free: the next runs may compute', () => {
    const capacity = grown();
    for (let n = 0; n < 40; n++) capacity.reported(IDLE, 2);
    expect(capacity.places).toBe(10);
  });
});
