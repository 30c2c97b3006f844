import { withStopped } from './process-tree.mjs';

/** @param {readonly number[]} numbers @param {number} part 0.5 for the median */
export function quantile(numbers, part) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

export function median(numbers) {
  return quantile(numbers, 0.5);
}

/**
 * Each round measures every server once, so that all of them meet the same noise. Those that poll while they are idle
 * (`isStoppable`) stand still meanwhile.
 * @returns {Promise<Map<string, object>>} by name of the server, the median of each figure that `measure` answers
 */
export async function inTurns(servers, rounds, measure) {
  const found = new Map(servers.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round++)
    for (const server of servers) {
      const others = servers.filter((other) => other !== server && other.isStoppable).map(({ pid }) => pid);
      const figures = await withStopped(others, () => measure(server));
      found.get(server.name).push(figures);
      const shown = Object.entries(figures).map(([what, figure]) => `${what} ${rounded(figure)}`);
      process.stdout.write(`  ${round} ${server.name.padEnd(10)} ${shown.join(', ')}\n`);
    }
  return new Map(
    [...found].map(([name, all]) => [
      name,
      Object.fromEntries(
        Object.keys(all[0]).map((what) => [what, median(all.map((figures) => figures[what]))]),
      ),
    ]),
  );
}

/** Three digits are more than a measurement is worth. */
export function rounded(figure) {
  if (figure === undefined) return '-';
  return figure >= 100 ? figure.toFixed(0) : figure >= 10 ? figure.toFixed(1) : figure.toFixed(2);
}

/**
 * Performs an operation over and over, by several callers at once.
 * @returns {Promise<{perSecond: number, p50: number, p95: number}>}
 */
export async function byCallers(callers, { seconds, most = Infinity }, operation) {
  const times = [];
  const begun = performance.now();
  const endsAt = begun + seconds * 1000;
  let left = most;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < endsAt && left-- > 0) {
        const from = performance.now();
        await operation();
        times.push(performance.now() - from);
      }
    }),
  );
  const perSecond = (times.length * 1000) / (performance.now() - begun);
  return { perSecond, p50: median(times), p95: quantile(times, 0.95) };
}
