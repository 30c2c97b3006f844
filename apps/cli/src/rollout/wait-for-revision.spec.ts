import { FakeClock } from '#lib/testing';
import { type Deployment, waitUntilServing } from './revisions.js';

const deployment = (reason: string, status = 'READY'): Deployment => ({
  id: 'i',
  name: 'a',
  status,
  status_reason: reason,
  status_message: 'why',
  latest_revision_id: null,
  active_revision_id: null,
  url: null,
});

/** Clock whose sleeps end at once. */
class HastyClock extends FakeClock {
  override sleep(ms: number): Promise<void> {
    return this.advance(ms);
  }
}

/** Lines printed while these answers come, one a second; the last one stays. */
async function wait(...answers: readonly Deployment[]): Promise<readonly string[]> {
  const lines: string[] = [];
  let asked = 0;
  const request = () => Promise.resolve(answers[Math.min(asked++, answers.length - 1)] as never);
  await waitUntilServing(
    {
      rest: { request },
      clock: new HastyClock(),
      timeoutMs: 5_000,
      onProgress: (line) => lines.push(line),
    },
    deployment('Ready'),
  );
  return lines;
}

describe('waitUntilServing', () => {
  it.each(['Ready', 'Asleep', 'Waking'])(
    'takes a deployment that is %s for one that serves',
    async (reason) => {
      expect(await wait(deployment('Deploying'), deployment(reason))).toEqual(['a: why']);
    },
  );

  it('gives up on one that is suspended', async () => {
    await expect(wait(deployment('Suspended', 'UNUSED'))).rejects.toMatchObject({ exit: 'timedOut' });
  });
});
