/** One line of a scrape. */
export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** Name that differs from the metric's own: the parts of a histogram. */
  readonly metricName?: string;
}
