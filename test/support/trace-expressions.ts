import type { FilterableRun } from './evaluate-filter.js';
import { aRun } from './filter-expressions.js';

/** Filters of one query over whole traces, and which of these runs they find. */
export interface TraceExpression {
  readonly filter: string;
  readonly traceFilter: string;
  readonly treeFilter?: string;
  readonly runs: readonly FilterableRun[];
  readonly finds: readonly FilterableRun[];
}

type Fields = Partial<FilterableRun>;

/** A root with runs below it. */
function aTrace(root: Fields, ...children: readonly Fields[]): readonly FilterableRun[] {
  const top = aRun(root);
  const below = children.map((fields) =>
    aRun({ ...fields, traceId: top.id, parentRunId: top.id, isRoot: false }),
  );
  return [top, ...below];
}

const SCORED = 'and(eq(feedback_key, "user_score"), eq(feedback_score, 1))';
const scored = (score: number): Fields => ({ feedback: [{ key: 'user_score', score }] });
const named = (name: string): Fields => ({ name });

function finding(name: string, found: readonly FilterableRun[]): readonly FilterableRun[] {
  return found.filter((run) => run.name === name);
}

const liked = aTrace(scored(1), named('extractor'), named('other'));
const disliked = aTrace(scored(0), named('extractor'));
const likedBelow = aTrace({}, { ...named('extractor'), ...scored(1) });

const expanded = aTrace(scored(1), named('RetrieveDocs'), named('ExpandQuery'));
const alone = aTrace(scored(1), named('RetrieveDocs'));
const unscored = aTrace({}, named('RetrieveDocs'), named('ExpandQuery'));
const ownRoot = aTrace({ ...named('ExpandQuery'), ...scored(1) }, named('RetrieveDocs'));

/** The expressions of public documents that speak of other runs of the trace. */
export const TRACE_EXPRESSIONS: readonly TraceExpression[] = [
  {
    filter: 'eq(name, "extractor")',
    traceFilter: SCORED,
    runs: [...liked, ...disliked, ...likedBelow],
    finds: finding('extractor', liked),
  },
  {
    filter: 'eq(name, "RetrieveDocs")',
    treeFilter: 'eq(name, "ExpandQuery")',
    traceFilter: SCORED,
    runs: [...expanded, ...alone, ...unscored, ...ownRoot],
    finds: finding('RetrieveDocs', [...expanded, ...ownRoot]),
  },
];
