import { atOnce, inTurns, isJsonObject, parseJson } from '#lib/json';
import { isCall } from '../run/own-usage.js';
import type { StoredRun } from '../run/stored-run.js';
import { factsInExtra } from './extra-facts.js';
import { hasFigures, PLACES, type Usage, usageInOutputs } from './usage.js';

/** Origin of the tokens and costs that are shown of a run; undefined where it has none. */
export interface UsageSource {
  /** Path of the member that stated them, `run` for members of the run itself, or `calls_below` for a sum. */
  readonly tokens: string | undefined;
  readonly costs: 'sender' | 'price' | 'calls_below' | undefined;
}

/** Larger outputs are named as a whole: they would have to be taken apart. */
const MAX_BYTES = 1_048_576;

/** Reads the stored payloads again, by the rules of ingestion. */
export async function usageSourceOf(run: StoredRun): Promise<UsageSource> {
  const { row } = run;
  const hasTokens = [row.totalTokens, row.promptTokens, row.completionTokens].some(
    (one) => one !== undefined,
  );
  const isSum = row.isRoot && !isCall(row.runType);
  const costs =
    row.totalCost === undefined
      ? undefined
      : row.priceId !== undefined
        ? 'price'
        : isSum || isSummedParent(row.runType)
          ? 'calls_below'
          : 'sender';
  if (!hasTokens) return { tokens: undefined, costs };
  return { tokens: isCall(row.runType) ? await memberOf(run) : 'calls_below', costs };
}

function isSummedParent(runType: string): boolean {
  return !isCall(runType) && runType !== 'tool' && runType !== 'retriever';
}

async function memberOf({ row, payloads: { outputs, extra } }: StoredRun): Promise<string> {
  const stated: (readonly [string, Usage | undefined])[] = [];
  if (outputs) stated.push([memberInOutputs(outputs), await inTurns(usageInOutputs(outputs))]);
  if (extra) stated.push(['extra.metadata.usage_metadata', (await inTurns(factsInExtra(extra))).usage]);
  const [name, usage] = stated.find(([, one]) => one !== undefined && hasFigures(one)) ?? ['run', undefined];
  // the sum of a root's trace: an outer call repeats the usage of the calls below it
  const isSum = row.isRoot && usage !== undefined && usage.totalTokens !== row.totalTokens;
  return isSum ? 'calls_below' : name;
}

/** The first member of the outputs that states a usage by itself. */
function memberInOutputs(outputs: Buffer): string {
  const parsed = outputs.length <= MAX_BYTES ? parseJson(outputs.toString()) : undefined;
  if (!isJsonObject(parsed)) return 'outputs';
  const found = [...PLACES.keys()].find((name) => {
    if (!Object.hasOwn(parsed, name)) return false;
    const usage = atOnce(usageInOutputs(Buffer.from(JSON.stringify({ [name]: parsed[name] }))));
    return usage !== undefined && hasFigures(usage);
  });
  return found === undefined ? 'outputs' : `outputs.${found}`;
}
