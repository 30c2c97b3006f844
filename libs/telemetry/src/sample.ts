/** One line of a scrape. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Where it is not the metric's own name: the parts of a histogram. */
  readonly metricName?: string;
}
