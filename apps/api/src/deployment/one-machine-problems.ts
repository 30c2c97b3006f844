import type { FieldProblem } from '#lib/errors';
import type { SourceRevisionConfigRequest, SourceConfigRequest } from './deployment-request.js';

interface Asked {
  readonly source_config?: Pick<SourceConfigRequest, 'resource_spec'> | null | undefined;
  readonly source_revision_config?: Pick<SourceRevisionConfigRequest, 'image_uri'> | null | undefined;
}

/** Images that a node of processes has or may be given; all others would have to be pulled. */
const OF_THIS_MACHINE = /^(local|agentplane)\//;

/** Volumes that the storage of a cluster provides. */
const OF_CLUSTERS = ['persistentVolumeClaim', 'nfs', 'csi'] as const;

/**
 * Problems of a request that asks for something that no node of processes can give: without these answers, a
 * revision would be made that fails. Volumes that depend on the machine's limits are judged by its node.
 */
export function oneMachineProblems(source: string, asked: Asked): readonly FieldProblem[] {
  const image = asked.source_revision_config?.image_uri ?? undefined;
  const isPulled = source === 'external_image' && image !== undefined && !OF_THIS_MACHINE.test(image);
  return [
    ...(isPulled ? [imageProblem(image)] : []),
    ...(asked.source_config?.resource_spec?.volumes ?? []).flatMap((volume, index) =>
      OF_CLUSTERS.filter((type) => (volume[type] ?? undefined) !== undefined).map((type) => ({
        loc: ['body', 'source_config', 'resource_spec', 'volumes', index, type],
        msg: `${type} is not supported on one machine, whose agents are processes; use emptyDir, configMap, secret or projected, or deploy on a cluster`,
        type: 'value_error',
      })),
    ),
  ];
}

function imageProblem(image: string): FieldProblem {
  return {
    loc: ['body', 'source_revision_config', 'image_uri'],
    msg: `image ${image} cannot be pulled: agents of one machine are processes; add its folder with "agentplane image add NAME FOLDER" and use source internal_image, or name a listener of another cluster in source_config.listener_id`,
    type: 'value_error',
  };
}
