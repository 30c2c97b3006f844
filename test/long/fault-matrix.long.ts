import { type Fault, FaultBench, type Victim, VICTIMS } from '../support/fault-bench.js';

const STOP_MS = Number(process.env.STOP_MS ?? 60_000);
const FAULTS: readonly Fault[] = [{ kind: 'kill' }, { kind: 'stop', ms: STOP_MS }];

/** Every program, killed and standing still for a minute, in the middle of an export, a rollout and queued runs. */
describe('the matrix of faults', () => {
  const bench = new FaultBench(20_000);

  beforeAll(() => bench.start());
  afterAll(() => bench.stop());

  it.each(
    VICTIMS.flatMap((victim) => FAULTS.map((fault): [string, Victim, Fault] => [fault.kind, victim, fault])),
  )(
    'loses nothing, doubles nothing and completes the rollout after a %s of %s',
    async (kind, victim, fault) => {
      const { acknowledged, refused, tookMs, reasons } = await bench.row([victim], fault);
      process.stderr.write(
        `| ${victim} | ${kind} | ${acknowledged} | ${refused} | ${(tookMs / 1000).toFixed(1)} s | ${reasons.join(', ')} |\n`,
      );
      expect(acknowledged).toBeGreaterThan(0);
    },
  );
});
