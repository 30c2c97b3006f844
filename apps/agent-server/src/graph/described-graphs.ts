import type { GraphSchemas } from './graph-schemas.js';

/** Descriptions of the graphs of this revision for others. */
export interface DescribedGraphs {
  /** Description of a graph in `langgraph.json`. */
  descriptionOf(graphId: string): string | undefined;
  /** @throws PublicError `unavailable` */
  schemasOf(graphId: string): Promise<GraphSchemas>;
}
