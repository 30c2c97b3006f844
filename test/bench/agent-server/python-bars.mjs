/** What is promised where the graphs are Python, by the name of the row; the others have no bar of their own. */
const BARS = {
  'stateless wait, p50': { least: { below: 8 }, aim: { below: 5 } },
  'stateless wait, 32 callers': { least: { times: 2 }, aim: { times: 3 } },
  'new thread and wait, 32 callers': { least: { times: 1.5 }, aim: { times: 3 } },
  'first streamed event, alone, p50': { least: { below: 20 }, aim: { below: 6 } },
  '64 paced streams: finished': { least: { above: 25 }, aim: { above: 50 } },
  '64 streams of 200 tokens: events': { least: { times: 3 }, aim: { times: 5 } },
  'CPU per 200-token run beyond the bare engine': { least: { below: 4 }, aim: { below: 2 } },
  'start of an agent: process start to ready': { least: { below: 1_500 }, aim: { below: 1_000 } },
};

/** @param {readonly import('./table.mjs').Row[]} rows @returns those with a bar, under the bars of Python */
export function withPythonBars(rows) {
  return rows.flatMap((row) =>
    row.unit === 'MB' ? [row] : BARS[row.what] ? [{ ...row, ...BARS[row.what] }] : [],
  );
}
