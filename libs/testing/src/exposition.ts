/** One line of values in a scrape. */
export interface ExpositionSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric of a scrape with everything that belongs to it. */
export interface ExpositionFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary';
  readonly help: string;
  readonly samples: readonly ExpositionSample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: (-?\d+))?$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;

/**
 * Reads the text format of Prometheus, version 0.0.4, stricter than servers do: every family has HELP and
 * TYPE once and first, its samples are together and are named as its type wants, no series occurs twice, and
 * histograms add up.
 * @throws Error that names the line
 */
export function parseExposition(text: string): ReadonlyMap<string, ExpositionFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, ExpositionFamily>();
  let help: { name: string; text: string } | undefined;
  let open: { name: string; type: ExpositionFamily['type']; samples: ExpositionSample[] } | undefined;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (word === 'HELP') {
      if (families.has(name) || !NAME.test(name) || rest === '') throw new Error(`bad HELP: ${line}`);
      help = { name, text: rest };
    } else if (word === 'TYPE') {
      if (help?.name !== name || !isType(rest)) throw new Error(`bad TYPE: ${line}`);
      open = { name, type: rest, samples: [] };
      families.set(name, { ...open, help: help.text });
    } else if (open && !line.startsWith('#')) {
      open.samples.push(parseSample(line, open));
    } else throw new Error(`neither comment nor sample of a family: ${line}`);
  }
  for (const family of families.values()) checkFamily(family);
  return families;
}

function isType(word: string): word is ExpositionFamily['type'] {
  return ['counter', 'gauge', 'histogram', 'summary'].includes(word);
}

function parseSample(line: string, { name, type }: { name: string; type: string }): ExpositionSample {
  const [, sample = '', labelText = '', number = ''] = LINE.exec(line) ?? [];
  const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
  if (!suffixes.some((suffix) => sample === name + suffix))
    throw new Error(`not a sample of ${name}: ${line}`);
  const labels: Record<string, string> = {};
  for (LABEL.lastIndex = 0; LABEL.lastIndex < labelText.length;) {
    const [whole, label = '', value = '', end] = LABEL.exec(labelText) ?? [];
    if (whole === undefined || label in labels) throw new Error(`bad labels: ${line}`);
    if (end === '' && LABEL.lastIndex < labelText.length) throw new Error(`bad labels: ${line}`);
    labels[label] = value.replaceAll(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
  }
  const value = number === '+Inf' ? Infinity : number === '-Inf' ? -Infinity : Number(number);
  if (number === '' || (Number.isNaN(value) && number !== 'NaN')) throw new Error(`bad value: ${line}`);
  return { name: sample, labels, value };
}

function checkFamily({ name, type, samples }: ExpositionFamily): void {
  const seen = new Set<string>();
  for (const sample of samples) {
    const id = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
    if (seen.has(id)) throw new Error(`${name}: a series stands twice: ${id}`);
    seen.add(id);
    if (type === 'counter' && !(sample.value >= 0)) throw new Error(`${name}: a counter below 0`);
  }
  if (type === 'histogram') checkHistogram(name, samples);
}

function checkHistogram(name: string, samples: readonly ExpositionSample[]): void {
  const series = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels));
  for (const [labels, parts] of series) {
    const buckets = parts.filter((part) => part.name === `${name}_bucket`);
    const bounds = buckets.map((bucket) =>
      bucket.labels.le === '+Inf' ? Infinity : Number(bucket.labels.le),
    );
    const isGrowing = buckets.every(
      (bucket, at) =>
        at === 0 ||
        (bucket.value >= (buckets[at - 1]?.value ?? NaN) && (bounds[at] ?? NaN) > (bounds[at - 1] ?? NaN)),
    );
    const count = parts.find((part) => part.name === `${name}_count`)?.value;
    const hasSum = parts.some((part) => part.name === `${name}_sum`);
    if (!isGrowing || bounds.at(-1) !== Infinity || buckets.at(-1)?.value !== count || !hasSum)
      throw new Error(`${name}${labels}: a histogram that does not add up`);
  }
}
