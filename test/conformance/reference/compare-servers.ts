import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findDifferences, type Difference } from './find-differences.js';
import { normalize } from './normalize.js';
import type { Transcript } from './observation.js';
import { Recorder } from './recorder.js';
import { SDK_SCENARIOS, sdkTranscripts } from './sdk-transcripts.js';
import { ASSISTANT_SCENARIOS } from './scenarios/assistant-scenarios.js';
import { RUN_SCENARIOS } from './scenarios/run-scenarios.js';
import type { Scenario } from './scenarios/scenario.js';
import { STORE_SCENARIOS } from './scenarios/store-scenarios.js';
import { STREAM_SCENARIOS } from './scenarios/stream-scenarios.js';
import { THREAD_SCENARIOS } from './scenarios/thread-scenarios.js';

const SCENARIOS: readonly Scenario[] = [
  ...ASSISTANT_SCENARIOS,
  ...THREAD_SCENARIOS,
  ...RUN_SCENARIOS,
  ...STREAM_SCENARIOS,
  ...STORE_SCENARIOS,
];

/** Of raw HTTP and of the Python SDK. */
export const SCENARIO_NAMES: readonly string[] = [...SCENARIOS.map(({ name }) => name), ...SDK_SCENARIOS];

/** Scenarios at work at once. */
const PLACES = 8;

const TWINS = join(import.meta.dirname, '..', 'agent-server', 'python-agent');

/** A folder with the graphs that both servers get: the twins of the conformance suite, and some more. */
export async function agentFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agentplane-compared-'));
  for (const name of ['graphs.py', 'embed.py']) await cp(join(TWINS, name), join(folder, name));
  await cp(join(import.meta.dirname, 'agent'), folder, { recursive: true });
  return folder;
}

export const removeFolder = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });

/**
 * What one server answers to all scenarios, with the same names for the same things.
 * @param python an interpreter that has the Python SDK
 */
export async function play(url: string, python: string): Promise<Map<string, Transcript>> {
  const assistants = await assistantNames(url);
  const waiting = [...SCENARIOS];
  const found = new Map<string, Transcript>();
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      found.set(next.name, normalize(await playOne(url, next), assistants));
  };
  await Promise.all(Array.from({ length: PLACES }, work));
  for (const transcript of await sdkTranscripts(python, url))
    found.set(transcript.scenario, normalize(transcript, assistants));
  return found;
}

async function playOne(url: string, { name, play: perform }: Scenario): Promise<Transcript> {
  const recorder = new Recorder(url);
  try {
    await perform(recorder);
  } catch (error) {
    recorder.note('the scenario failed', error instanceof Error ? error.message : String(error));
  }
  return { scenario: name, observations: recorder.observations };
}

/** Ids of the assistants that stand for graphs, and what they are called. */
async function assistantNames(url: string): Promise<Map<string, string>> {
  const recorder = new Recorder(url);
  const { body } = await recorder.prepare('POST', '/assistants/search', { limit: 100 });
  const assistants = body as { assistant_id: string; graph_id: string }[];
  return new Map(assistants.map((one) => [one.assistant_id, `<assistant ${one.graph_id}>`]));
}

/** In the order of the scenarios. */
export function differencesOf(
  ours: ReadonlyMap<string, Transcript>,
  reference: ReadonlyMap<string, Transcript>,
): Map<string, readonly Difference[]> {
  return new Map(
    SCENARIO_NAMES.map((scenario) => {
      const empty = { scenario, observations: [] };
      return [scenario, findDifferences(ours.get(scenario) ?? empty, reference.get(scenario) ?? empty)];
    }),
  );
}
