import { type Command, command, DATA_OPTION, toggle } from '#lib/command-line';
import { OUTPUT } from '../output/output-option.js';

/** `agentplane image …`: the image store of a data folder. */
export const IMAGE_COMMANDS: readonly Command[] = [
  command(
    {
      words: 'image add',
      about: 'take an agent’s folder (with a langgraph.json) into the image store',
      arguments: [
        { name: 'name', about: 'name for imageUri' },
        { name: 'folder', about: 'the folder; it is copied', completes: 'folder' },
      ],
      options: {
        deploy: toggle('--deploy', 'make a new revision of every deployment that names the image'),
        data: DATA_OPTION,
      },
      examples: ['image add my-agent ./agent', 'image add my-agent ./agent --deploy'],
      exits: ['unreachable'],
      needs: 'data folder',
    },
    async ([name = '', folder = ''], flags) =>
      (await import('./image-command.js')).addImage(name, folder, flags),
  ),
  command(
    {
      words: 'image list',
      about: 'list the images and their present digests',
      options: { data: DATA_OPTION, output: OUTPUT },
      examples: ['image list'],
      exits: ['unreachable'],
      needs: 'data folder',
    },
    async (_words, flags) => (await import('./image-command.js')).listImages(flags.data, flags.output),
  ),
];
