import { deploy, served } from './deploying.mjs';
import { row, sleep } from './measuring.mjs';
import { Steps } from './steps.mjs';

/** A standby is warm for a minute; two, where what took over has just become ready. */
const COLD_MS = 130_000;

/** Requests go on meanwhile: one that fails is counted. */
function steadyRequests(url) {
  let stopped = false;
  const seen = { asked: 0, failed: 0 };
  const loop = (async () => {
    while (!stopped) {
      seen.asked++;
      const answer = await fetch(`${url}/ok`).catch(() => undefined);
      if (answer?.status !== 200) seen.failed++;
      await answer?.text();
      await sleep(10);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await loop;
      return seen;
    },
  };
}

/**
 * From a change to the revision that serves it, and back, with the former revision warm and cold.
 * @param cold how many rollbacks to a cold standby, each of which waits for two minutes
 */
export async function measureRollouts({ rest, kubeconfig, times, cold: coldTimes }) {
  const steps = await Steps.follow(kubeconfig);
  const first = await served(rest, await deploy(rest, 'rollouts'), performance.now());
  const { id, url } = first.found;
  const active = async () => (await rest.call('GET', `/v2/deployments/${id}`)).active_revision_id;
  const change = (value) =>
    rest.call('PATCH', `/v2/deployments/${id}`, { secrets: [{ name: 'CHANGE', value: String(value) }] });
  const goBack = async (to) => {
    const began = performance.now();
    const back = await rest.call('POST', `/v2/deployments/${id}/revisions/${to}/redeploy`);
    return (await served(rest, back, began)).tookMs;
  };
  const requests = steadyRequests(url);
  const [applied, warm, cold, begun] = [[], [], [], []];
  for (let n = 0; n < times; n++) {
    const former = await active();
    const began = performance.now();
    applied.push((await served(rest, await change(n), began)).tookMs);
    // deployments number their revisions: one by a change and one by a rollback each time
    begun.push({ revision: `rollouts-${String(2 * n + 2).padStart(5, '0')}`, began });
    warm.push(await goBack(former));
  }
  for (let n = 0; n < coldTimes; n++) {
    const former = await active();
    await served(rest, await change(`cold-${n}`));
    await sleep(COLD_MS);
    cold.push(await goBack(former));
  }
  const { asked, failed } = await requests.stop();
  row('create → first answer', [first.tookMs]);
  row('apply → new revision serving', applied);
  steps.report(begun);
  row('rollback to a warm standby', warm);
  row('rollback to a cold standby', cold);
  process.stdout.write(`requests meanwhile: ${asked}, failed: ${failed}\n`);
  await steps.stop();
}
