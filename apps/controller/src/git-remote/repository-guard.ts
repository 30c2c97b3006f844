import { TerminalError } from '#lib/errors';
import { AddressGuard } from '#lib/outbound';
import { REASON } from '#lib/resources';
import type { ControllerConfig } from '../config.js';

/** Judges the addresses of git hosts, as this program is set. */
export function repositoryGuard({
  allowPrivateEndpoints,
}: Pick<ControllerConfig, 'allowPrivateEndpoints'>): AddressGuard {
  return new AddressGuard({
    allowPrivate: allowPrivateEndpoints,
    refuse: (why) =>
      new TerminalError(
        REASON.repositoryRefused,
        `the host of the repository may not be dialled (${why}); use a public address, or set AGENTPLANE_ALLOW_PRIVATE_ENDPOINTS, allowPrivateEndpoints of the chart`,
      ),
  });
}
