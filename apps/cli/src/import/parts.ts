import type { Destination } from './destination.js';
import type { Page, Part } from './move.js';
import type { Source, SourceDataset, SourceProject } from './source.js';

/** Datasets and projects of a source, in the order in which they can be written: experiments need their datasets. */
export async function* partsOf(source: Source, there: Destination): AsyncIterable<Part> {
  const projects: SourceProject[] = [];
  for await (const project of source.projects()) projects.push(project);
  for await (const dataset of source.datasets()) yield datasetPart(source, there, dataset);
  for (const project of projects) yield projectPart(source, there, project);
}

function projectPart(source: Source, there: Destination, project: SourceProject): Part {
  const { id, name: title } = project.body;
  return {
    key: `project ${id}`,
    title,
    total: project.total,
    prepare: async () => await there.ensureProject(project),
    async read(cursor): Promise<Page> {
      const page = await source.runs(project, cursor);
      const { runs = [], spans = [], feedback, attachments = 0, next } = page;
      return {
        counts: { runs: runs.length + spans.length, feedback: feedback.length },
        left: attachments === 0 ? {} : { attachments },
        next,
        write: async () => await there.writeRuns(page),
      };
    },
    there: async () => await there.thereOfProject(id),
  };
}

function datasetPart(source: Source, there: Destination, dataset: SourceDataset): Part {
  const { id, name: title } = dataset.body;
  return {
    key: `dataset ${id}`,
    title,
    total: undefined,
    prepare: async () => await there.ensureDataset(dataset),
    async read(cursor): Promise<Page> {
      const { examples, next } = await source.examples(dataset, cursor);
      return {
        counts: { examples: examples.length },
        next,
        write: async () => (examples.length === 0 ? {} : await there.writeExamples(id, examples)),
      };
    },
    there: async () => await there.thereOfDataset(id),
  };
}
