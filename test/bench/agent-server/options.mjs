import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments, refuse } from '../read-arguments.mjs';

const HELP = `npm run bench -- agent-server [--part NAME]… [--peers FOLDER] [--rounds N]

Measures the agent server on durable Postgres and, beside it in the same run and in turns, the reference servers of the
interface (in memory), where they are installed. Medians of the rounds; the last lines are a table with marks.

  --part NAME      only this part, more than once for several: PARTS
  --peers FOLDER   where the reference servers are: FOLDER/py, a Python environment, and FOLDER/js, npm packages
  --rounds N       rounds of each measurement, 3 by default
  --python PYTHON  graphs in Python, on an interpreter with langgraph (ours and the Python peer alone), with bars of their own
  --ours FOLDER    another built checkout of this repository as one more server, for a comparison of before and after

Install the peers (their own licences; nothing of them comes with this repository):
  python3 -m venv FOLDER/py && FOLDER/py/bin/pip install 'langgraph-cli[inmem]==0.4.40' langgraph-api==0.16.7
  mkdir FOLDER/js && cd FOLDER/js && npm init -y && npm install @langchain/langgraph-api@1.5.1 \\
    @langchain/langgraph@1.7.3 @langchain/core@1.4.0 @langchain/langgraph-checkpoint@1.2.2 @langchain/langgraph-sdk@1.15.0
`;

/**
 * @param {readonly string[]} names of all parts
 * @param {readonly string[]} ofPython those that graphs in JavaScript have no part in
 * @param {readonly string[]} notOfPython those that are left out for graphs in Python unless they are named
 * @returns what was asked for
 */
export function readOptions(names, ofPython, notOfPython) {
  const help = HELP.replace('PARTS', names.join(', '));
  const { values } = readArguments(help, {
    options: {
      part: { type: 'string', multiple: true },
      peers: { type: 'string' },
      ours: { type: 'string' },
      python: { type: 'string' },
      rounds: { type: 'count', default: 3 },
    },
  });
  const left = values.python === undefined ? ofPython : notOfPython;
  const parts = values.part ?? names.filter((name) => !left.includes(name));
  const unknown = parts.filter((name) => !names.includes(name));
  if (unknown.length > 0) refuse(`unknown part ${unknown.join(', ')}; there are ${names.join(', ')}`, help);
  const { peers, rounds } = values;
  const python = peers && join(peers, 'py', 'bin', 'langgraph');
  const javascript = peers && join(peers, 'js', 'node_modules', '@langchain', 'langgraph-api');
  if (values.python !== undefined && !existsSync(values.python))
    refuse(`--python ${values.python} does not exist`, help);
  if (peers && !existsSync(python) && !existsSync(javascript))
    refuse(`--peers ${peers}: neither ${python} nor ${javascript} exists`, help);
  return {
    parts,
    rounds,
    ours: values.ours,
    interpreter: values.python,
    python: python && existsSync(python) ? python : undefined,
    javascript: values.python === undefined && javascript && existsSync(javascript) ? javascript : undefined,
  };
}
