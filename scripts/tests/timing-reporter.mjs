// Prints the slowest spec files and how much of the time went by outside of tests, and writes the seconds of each file
// into AGENTPLANE_TEST_RESULTS/durations.json.
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const SHOWN = 20;

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
    });
  }

  onRunComplete() {
    const files = this.#files.sort((a, b) => b.ms - a.ms);
    const results = process.env.AGENTPLANE_TEST_RESULTS;
    if (results) writeFileSync(join(results, 'durations.json'), JSON.stringify(files));
    if (files.length < SHOWN) return;
    const sum = (member) => files.reduce((total, file) => total + file[member], 0) / 1000;
    const lines = files
      .slice(0, SHOWN)
      .map(({ path, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${path}`);
    const share = 100 * (1 - sum('inside') / sum('ms'));
    process.stderr.write(
      `\nThe ${SHOWN} slowest of ${files.length} files:\n${lines.join('\n')}\n` +
        `All files: ${sum('ms').toFixed(0)} s, of which ${share.toFixed(0)} % outside of tests (${sum('loadMs').toFixed(0)} s loading modules, the rest in hooks); ${sum('cpuMs').toFixed(0)} s of processor time in test processes\n`,
    );
  }
}
