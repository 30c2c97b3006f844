/** Answer of `/version`: the release whose API this server speaks, so that kubectl finds no skew. */
export const SERVER_VERSION = {
  major: '1',
  minor: '34',
  emulationMajor: '1',
  emulationMinor: '34',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '33',
  gitVersion: 'v1.34.4+agentplane',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'embedded',
  platform: `${process.platform}/${process.arch}`,
} as const;
