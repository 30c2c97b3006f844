import { inheritedEnvironment } from '#lib/config';

const { AGENTPLANE_TEST_PATIENCE } = inheritedEnvironment(['AGENTPLANE_TEST_PATIENCE']);

/**
 * Scales a deadline to the machine: by 1 at a desk, by more in CI (`AGENTPLANE_TEST_PATIENCE`). A test names no deadline of
 * its own unless the time is what it is about.
 */
export function patient(ms: number): number {
  return ms * Number(AGENTPLANE_TEST_PATIENCE ?? '1');
}
