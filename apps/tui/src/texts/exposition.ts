/** Values of one scrape by the name of the metric, each with its labels as they were sent. */
export type Scrape = ReadonlyMap<string, readonly { readonly labels: string; readonly value: number }[]>;

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$/;

/** Reads the text format of Prometheus; comments and lines of another form are left out. */
export function parseExposition(text: string): Scrape {
  const found = new Map<string, { labels: string; value: number }[]>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) continue;
    const samples = found.get(name) ?? [];
    samples.push({ labels, value: Number(value) });
    found.set(name, samples);
  }
  return found;
}
