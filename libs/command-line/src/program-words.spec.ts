import { programWords } from './program-words.js';

describe('programWords', () => {
  it.each([
    ['in a checkout', '/srv/agentplane', '/srv/agentplane', 'npx agentplane'],
    ['above a checkout', '/srv', '/srv/agentplane', 'node agentplane/bin/agentplane.js'],
    ['elsewhere', '/tmp', '/srv/my checkout', "node '/srv/my checkout/bin/agentplane.js'"],
    ['beside the package', '/app', '/app/node_modules/agentplane', 'npx agentplane'],
    ['below it', '/app/src', '/app/node_modules/agentplane', 'npx agentplane'],
    [
      'beside a folder of a similar name',
      '/app2',
      '/app/node_modules/agentplane',
      'node /app/node_modules/agentplane/bin/agentplane.js',
    ],
    ['with a global package', '/tmp', '/usr/local/lib/node_modules/agentplane', 'agentplane'],
    [
      'after npx of a file',
      '/tmp',
      '/home/me/.npm/_npx/1f/node_modules/agentplane',
      'node /home/me/.npm/_npx/1f/node_modules/agentplane/bin/agentplane.js',
    ],
  ])('names the program %s', (_where, here, installation, words) => {
    expect(programWords({ here, installation })).toBe(words);
  });
});
