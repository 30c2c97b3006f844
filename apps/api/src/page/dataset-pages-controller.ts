import { Inject, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { escapeHtml, renderDocument, renderTable, renderTime } from '#lib/page';
import type { Dataset, Project, RunStatistics, TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { DatasetRequests } from '../dataset/dataset-requests.js';
import { Traces } from '../trace/traces.js';
import { Resource } from '../wire/operation.js';
import { Text } from '../wire/fields.js';
import { PathId } from '../wire/query-flag.js';
import { Page, type PageReader, PageReaders } from './page-readers.js';
import { shortCost } from './run-item.js';

/** Query of the address at which the clients compare experiments. */
class CompareQuery {
  @Text({ maxLength: 4_000, about: 'Ids of experiments, separated by commas: those that are shown' })
  selectedSessions?: string;
}

const EXPERIMENTS = 100;

/** Datasets and their experiments for people, at the addresses that the `langsmith` clients print. */
@Resource('Pages', 'o/:tenant_id/datasets/:dataset_id')
export class DatasetPagesController {
  constructor(
    private readonly readers: PageReaders,
    private readonly datasets: DatasetRequests,
    private readonly traces: Traces,
    @Inject(TRACE_STORE) private readonly store: Pick<TraceStore, 'projects'>,
  ) {}

  @Page('', 'A dataset with its experiments as a page, for a signed-in person')
  async dataset(
    @PathId('tenant_id') tenantId: string,
    @PathId('dataset_id') id: string,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await this.#show({ reply, tenantId }, id, undefined);
  }

  @Page('compare', 'Chosen experiments of a dataset as a page, for a signed-in person')
  async compare(
    @PathId('tenant_id') tenantId: string,
    @PathId('dataset_id') id: string,
    @Query() { selectedSessions: chosen }: CompareQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const ids = chosen?.split(',').map((one) => one.trim().toLowerCase());
    await this.#show({ reply, tenantId }, id, ids);
  }

  async #show(
    asked: { readonly reply: FastifyReply; readonly tenantId: string },
    id: string,
    chosen: readonly string[] | undefined,
  ): Promise<void> {
    await this.readers.show({ ...asked, route: 'GET /datasets/{dataset_id}' }, async (reader) => {
      const { tenantId } = reader.caller;
      const dataset = await this.datasets.get(tenantId, id);
      const search = { referenceDatasetIds: [id], limit: EXPERIMENTS, offset: 0 };
      const found = await this.store.projects.list(tenantId, search);
      const shown = chosen ? found.filter((one) => chosen.includes(one.id)) : found;
      const sums = await this.traces.statisticsOf(tenantId, shown, { include_stats: true });
      return renderDataset(dataset, shown, sums, reader);
    });
  }
}

function renderDataset(
  { name, description, exampleCount, sessionCount }: Dataset,
  experiments: readonly Project[],
  statistics: ReadonlyMap<string, RunStatistics>,
  { pathOf, navigation }: PageReader,
): Buffer {
  const rows = experiments.map((one) => {
    const sums = statistics.get(one.id);
    const cost = sums?.costs?.totalCost;
    return [
      `<a href="${escapeHtml(pathOf('projects', 'p', one.id))}">${escapeHtml(one.name)}</a>`,
      (sums?.counts.runs ?? 0).toLocaleString('en'),
      (sums?.counts.failed ?? 0).toLocaleString('en'),
      sums?.percentiles.latency.p50 === undefined ? '' : `${sums.percentiles.latency.p50.toFixed(2)} s`,
      cost === undefined ? '' : `$${shortCost(cost)}`,
      renderTime(one.createdAt.toISOString()),
    ];
  });
  const headings = ['experiment', 'traces', 'failed', 'latency p50', 'cost', 'since'];
  const main = `<h1>${escapeHtml(name)}</h1>
<dl class="facts"><div><dt>examples</dt> <dd>${exampleCount.toLocaleString('en')}</dd></div><div><dt>experiments</dt> <dd>${sessionCount.toLocaleString('en')}</dd></div></dl>
${description ? `<p>${escapeHtml(description)}</p>` : ''}
${rows.length === 0 ? '<p>There are no experiments here.</p>' : renderTable('Experiments', headings, rows)}`;
  return renderDocument(name, main, navigation);
}
