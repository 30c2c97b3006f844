import type { GraphSchemas } from './graph-schemas.js';

/** What others are shown of the graphs of this revision. */
export interface DescribedGraphs {
  /** What `langgraph.json` says about a graph. */
  descriptionOf(graphId: string): string | undefined;
  /** @throws PublicError `unavailable` */
  schemasOf(graphId: string): Promise<GraphSchemas>;
}
