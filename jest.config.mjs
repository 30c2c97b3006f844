/** Unit tests beside the source, and what crosses a border under test/ (each suite is named by `npm test -- test/<suite>`). */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/apps', '<rootDir>/libs', '<rootDir>/test'],
  testMatch: ['**/*.spec.ts', '**/*.spec.tsx'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: {
    '^.+\\.tsx?$': [
      '@swc/jest',
      {
        module: { type: 'es6' },
        sourceMaps: 'inline',
        jsc: {
          target: 'es2024',
          keepClassNames: true,
          parser: { syntax: 'typescript', tsx: true, decorators: true, dynamicImport: true },
          transform: {
            legacyDecorator: true,
            decoratorMetadata: true,
            useDefineForClassFields: false,
            react: { runtime: 'automatic' },
          },
        },
      },
    ],
  },
  resolver: '<rootDir>/scripts/jest-resolver.cjs',
  testSequencer: '<rootDir>/scripts/longest-first.cjs',
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.agentplane/'],
  testTimeout: 60_000,
  // modules of files that have ended are never given back: a worker with 3 GB of them spends its time on collecting garbage
  workerIdleMemoryLimit: '800MB',
};
