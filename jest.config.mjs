/** Unit tests beside the source, and what crosses a border under test/ (each suite is named by `npm test -- test/<suite>`). */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts', '**/*.spec.tsx'],
  // modules are loaded by Node itself (scripts/tests/sources.mjs), and once for all files of a process
  runner: '<rootDir>/scripts/tests/runner.mjs',
  transform: {},
  reporters: ['default', '<rootDir>/scripts/tests/timing-reporter.mjs'],
  testSequencer: '<rootDir>/scripts/tests/longest-first.mjs',
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.agentplane/', '<rootDir>/test/templates/agents/'],
  // bounds a test that hangs; what it waits for has deadlines of its own (waitFor of #lib/testing)
  testTimeout: 300_000 * Number(process.env.AGENTPLANE_TEST_PATIENCE ?? 1),
};
