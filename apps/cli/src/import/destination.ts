import { visibleText } from '#lib/command-line';
import { errorText } from '#lib/errors';
import { type JsonObject, listAt, numberAt, own, recordAt, textAt } from '#lib/json';
import { RestError, type RestRequests } from '#lib/rest-client';
import {
  type Attachment,
  type Example,
  given,
  type RunPage,
  type SourceDataset,
  type SourceProject,
} from './source.js';

/** Above it a request is sent in parts; the platform takes 128 MiB. */
const MAX_BODY = 33_554_432;
/** Ids that fit an address. */
const NAMED_AT_ONCE = 100;
const BOUNDARY = 'agentplane-import-7d1f0a6c2b';
const MULTIPART = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

interface FormPart {
  readonly name: string;
  readonly value: unknown;
}

/** Number of refused items of each kind. */
type Refused = Readonly<Record<string, number>>;

/** The workspace that takes everything. Each write may be repeated: what is there already stays as it is. */
export class Destination {
  readonly #rest: RestRequests;
  readonly #product: string;

  /** @param product stands behind names that are taken */
  constructor(rest: RestRequests, product: string) {
    this.#rest = rest;
    this.#product = product;
  }

  /** Makes a tracing project unless it is there. @returns its name, which is another one where that is taken */
  async ensureProject({ body }: SourceProject): Promise<string> {
    return await this.#ensure('/sessions', body);
  }

  /** The same for a dataset. */
  async ensureDataset({ body }: SourceDataset): Promise<string> {
    return await this.#ensure('/datasets', body);
  }

  async #ensure(path: string, body: SourceProject['body']): Promise<string> {
    const found = await this.#find<{ readonly name: string }>(`${path}/${body.id}`);
    if (found) return found.name;
    try {
      return (await this.#rest.request<{ readonly name: string }>('POST', path, body)).name;
    } catch (error) {
      if (!(error instanceof RestError && error.status === 409)) throw error;
      // never into what another made under the same name
      const renamed = { ...body, name: `${body.name} (${this.#product})` };
      return (await this.#rest.request<{ readonly name: string }>('POST', path, renamed)).name;
    }
  }

  async #find<T>(path: string): Promise<T | undefined> {
    try {
      return await this.#rest.request<T>('GET', path);
    } catch (error) {
      if (error instanceof RestError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Stores a page of runs, then their feedback. */
  async writeRuns({ runs = [], spans = [], feedback, attachments = [] }: RunPage): Promise<Refused> {
    if (spans.length > 0)
      await this.#rest.request('POST', '/otel/v1/traces', {
        resourceSpans: [{ scopeSpans: [{ spans }] }],
      });
    const parts = [
      ...runs.map((value) => ({ name: `post.${String(own(value, 'id'))}`, value })),
      ...feedback.map((value) => ({ name: `feedback.${String(own(value, 'id'))}`, value })),
    ];
    const refused = await this.#sendParts('/runs/multipart', parts);
    const count = (prefix: string): number => refused.filter((one) => one.startsWith(prefix)).length;
    let left = 0;
    for (const one of attachments) if (!(await this.#isAttached(one))) left++;
    return { runs: count('post.'), feedback: count('feedback.'), attachments: left };
  }

  /** One at a time: each may have 64 MB. */
  async #isAttached({ runId, name, read }: Attachment): Promise<boolean> {
    try {
      const { type, bytes } = await read();
      const part = `attachment.${runId}.${name.replaceAll(/["\\]/g, '\\$&')}`;
      const body = Buffer.concat([
        Buffer.from(
          `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${part}"\r\ncontent-type: ${type}\r\n\r\n`,
        ),
        bytes,
        Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
      ]);
      const answer = await this.#rest.request('POST', '/runs/multipart', body, MULTIPART);
      const [problem] = listAt(answer, 'mended');
      if (problem === undefined) return true;
      throw new Error(textAt(problem, ['msg']));
    } catch (error) {
      if (error instanceof RestError && (error.status >= 500 || error.status === 401)) throw error;
      process.stderr.write(visibleText(`attachment ${name} of run ${runId}: ${errorText(error)}\n`));
      return false;
    }
  }

  /** Stores the examples that are not there yet. */
  async writeExamples(datasetId: string, examples: readonly Example[]): Promise<Refused> {
    let refused = 0;
    for (let at = 0; at < examples.length; at += NAMED_AT_ONCE)
      refused += await this.#addExamples(datasetId, examples.slice(at, at + NAMED_AT_ONCE));
    return { examples: refused };
  }

  async #addExamples(datasetId: string, examples: readonly Example[]): Promise<number> {
    const query = new URLSearchParams({ dataset: datasetId, exclude_default_fields: 'true' });
    for (const { id } of examples) query.append('id', id);
    const found = await this.#rest.request<readonly { readonly id: string }[]>('GET', `/examples?${query}`);
    const stored = new Set(found.map(({ id }) => id));
    const parts = examples
      .filter(({ id }) => !stored.has(id))
      .flatMap(({ id, inputs, outputs, ...rest }) => [
        { name: id, value: given(rest) },
        { name: `${id}.inputs`, value: inputs },
        ...(outputs === undefined ? [] : [{ name: `${id}.outputs`, value: outputs }]),
      ]);
    const path = `/v1/platform/datasets/${datasetId}/examples`;
    return (await this.#sendParts(path, parts)).length;
  }

  /** @returns names of parts that were refused, each once */
  async #sendParts(path: string, parts: readonly FormPart[]): Promise<readonly string[]> {
    const refused: string[] = [];
    for (const body of bodiesOf(parts)) {
      try {
        await this.#rest.request('POST', path, body, MULTIPART);
      } catch (error) {
        if (!(error instanceof RestError && error.status === 422)) throw error;
        const names = new Set(listAt(error.answer, 'detail').map(partOf));
        names.delete(undefined);
        if (names.size === 0) throw error;
        refused.push(...[...names].filter((name) => name !== undefined));
      }
    }
    return refused;
  }

  async thereOfProject(id: string): Promise<Readonly<Record<string, number>>> {
    const { run_count: runs } = await this.#rest.request<{ readonly run_count: number }>(
      'POST',
      '/runs/stats',
      {
        session: [id],
      },
    );
    const stats = await this.#rest.request<JsonObject>('GET', `/sessions/${id}?include_stats=true`);
    const feedback = ['feedback_stats', 'session_feedback_stats']
      .flatMap((member) => Object.values(recordAt(stats, member)))
      .reduce((sum: number, one) => sum + numberAt(one, ['n']), 0);
    return { runs, feedback };
  }

  async thereOfDataset(id: string): Promise<Readonly<Record<string, number>>> {
    const { example_count: examples } = await this.#rest.request<{ readonly example_count: number }>(
      'GET',
      `/datasets/${id}`,
    );
    return { examples };
  }
}

/** The part that a problem is about: `["body", "post.ID", …]`. */
function partOf(problem: unknown): string | undefined {
  const name = listAt(problem, 'loc')[1];
  return typeof name === 'string' ? name : undefined;
}

/** Multipart bodies of these parts, each of a size that is taken. */
function* bodiesOf(parts: readonly FormPart[]): Generator<string, void, void> {
  let text = '';
  for (const { name, value } of parts) {
    const json = JSON.stringify(value);
    const part = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\ncontent-type: application/json\r\n\r\n${json}\r\n`;
    if (text !== '' && text.length + part.length > MAX_BODY) {
      yield `${text}--${BOUNDARY}--\r\n`;
      text = '';
    }
    text += part;
  }
  if (text !== '') yield `${text}--${BOUNDARY}--\r\n`;
}
