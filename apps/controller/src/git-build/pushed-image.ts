import { TerminalError } from '#lib/errors';
import { IMAGE_PUSHED, parseTerminationMessage } from '#lib/lifecycle';
import { type ImageRegistry, imageRepository } from '#lib/manifests';
import { REASON } from '#lib/resources';
import type { TakeImage } from './git-builds.js';

const DIGEST = /^sha256:[0-9a-f]{64}$/;

/**
 * The image that the last container of a build pushed, by the message that it left.
 * @throws TerminalError when it names none, or one of another repository than the deployment's
 */
export function pushedImage(registry: ImageRegistry): TakeImage {
  return (revision, pod) => {
    const repository = imageRepository(revision, registry);
    const messages = (pod.status?.containerStatuses ?? []).map(({ state }) =>
      parseTerminationMessage(state?.terminated?.message ?? ''),
    );
    const message = messages.find((one) => one?.reason === IMAGE_PUSHED)?.message ?? '';
    const [found = '', digest = ''] = message.split('@');
    if (found !== repository || !DIGEST.test(digest))
      return Promise.reject(
        new TerminalError(
          REASON.buildFailed,
          `the build ended without an image in ${repository}; the images of builder and controller have to be of one version`,
        ),
      );
    return Promise.resolve(message);
  };
}
