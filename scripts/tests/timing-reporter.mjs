// Prints the slowest spec files and how much of the time went by outside of tests, and writes the seconds of each file
// into AGENTPLANE_TEST_RESULTS/durations.json. `npm run test:durations` has it write test/durations.json.
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const SHOWN = 20;
/** Files that take less are not worth an order. */
const MIN_RECORDED_MS = 5_000;

export default class TimingReporter {
  #files = [];

  onTestResult(_test, { testFilePath, testResults, perfStats }) {
    if (!perfStats.runtime) return;
    const inside = testResults.reduce((sum, { duration }) => sum + (duration ?? 0), 0);
    this.#files.push({
      path: relative('', testFilePath),
      ms: perfStats.runtime,
      inside,
      loadMs: perfStats.loadMs,
      cpuMs: perfStats.cpuMs,
      programsMs: perfStats.programsMs,
    });
  }

  onRunComplete() {
    const files = this.#files.sort((a, b) => b.ms - a.ms);
    const results = process.env.AGENTPLANE_TEST_RESULTS;
    if (results) writeFileSync(join(results, 'durations.json'), JSON.stringify(files));
    if (process.env.AGENTPLANE_RECORD_DURATIONS === '1') recordDurations(files);
    if (files.length < SHOWN) return;
    const sum = (member) => files.reduce((total, file) => total + file[member], 0) / 1000;
    const lines = files
      .slice(0, SHOWN)
      .map(
        ({ path, ms, cpuMs, programsMs }) =>
          `${(ms / 1000).toFixed(1).padStart(7)} s, ${((cpuMs + programsMs) / 1000).toFixed(1).padStart(5)} s of a processor  ${path}`,
      );
    const share = 100 * (1 - sum('inside') / sum('ms'));
    process.stderr.write(
      `\nThe ${SHOWN} slowest of ${files.length} files:\n${lines.join('\n')}\n` +
        `All files: ${sum('ms').toFixed(0)} s, of which ${share.toFixed(0)} % outside of tests (${sum('loadMs').toFixed(0)} s loading modules, the rest in hooks); processor time: ${sum('cpuMs').toFixed(0)} s of test processes, ${sum('programsMs').toFixed(0)} s of programs that they started and saw end\n`,
    );
  }
}

function recordDurations(files) {
  const long = files.filter(({ ms }) => ms >= MIN_RECORDED_MS);
  const seconds = Object.fromEntries(long.map(({ path, ms }) => [path, Math.round(ms / 1000)]));
  writeFileSync('test/durations.json', `${JSON.stringify(seconds, null, 2)}\n`);
}
