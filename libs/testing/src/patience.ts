import { inheritedEnvironment } from '#lib/config';

const { AGENTPLANE_TEST_PATIENCE } = inheritedEnvironment(['AGENTPLANE_TEST_PATIENCE']);

/**
 * Scales a deadline to the machine: by 1 on a developer's machine, by more in CI
 * (`AGENTPLANE_TEST_PATIENCE`). A test names no deadline of its own unless it tests the time.
 */
export function patient(ms: number): number {
  return ms * Number(AGENTPLANE_TEST_PATIENCE ?? '1');
}
