import { type Fault, FaultBench, type Victim } from '../support/fault-bench.js';

const KILL: Fault = { kind: 'kill' };

/**
 * Every program once, in the middle of an export, a rollout and queued runs; afterwards everything is counted. The whole
 * matrix, with a minute of standing still for each program, is `test/long/fault-matrix.long.ts`.
 */
describe('a platform whose programs are killed or stand still', () => {
  const bench = new FaultBench(8_000);

  beforeAll(() => bench.start());
  afterAll(() => bench.stop());

  it.each<[string, readonly Victim[], Fault]>([
    ['worker, controller, listener and api', ['export-worker', 'controller', 'listener', 'api'], KILL],
    ['agent servers', ['agent-server'], KILL],
    ['API server, node and object store', ['embedded'], KILL],
    ['Postgres', ['postgres'], KILL],
  ])(
    'loses no row and no run, doubles none and completes the rollout when %s are killed',
    (_, victims, fault) => expectWhole(victims, fault),
  );

  it('hands the runs of an agent server that stands still to another, and completes them once', async () => {
    await expectWhole(['agent-server'], { kind: 'stop', ms: 20_000 });
  });

  async function expectWhole(victims: readonly Victim[], fault: Fault): Promise<void> {
    const result = await bench.row(victims, fault);
    process.stderr.write(`${victims.join(', ')} ${JSON.stringify({ fault, ...result })}\n`);
    expect(result.acknowledged).toBeGreaterThan(0);
  }
});
