import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repository } from '../support/platform.js';

const PATH = join(repository, 'docs', 'picture.svg');

/** The moving picture of the README, as scripts/picture.mjs recorded it. */
describe('the moving picture', () => {
  const text = readFileSync(PATH, 'utf8');
  const shown = [...text.matchAll(/<text[^>]*>([^<]*)/g)].map(([, words]) => words).join('\n');

  it('loads nothing, and has less than 300 kB', () => {
    expect(statSync(PATH).size).toBeLessThan(300_000);
    expect(text).toMatch(/^<svg [^]*<\/svg>\n$/);
    expect(text).not.toMatch(/<(?:script|image|foreignObject|use)\b|url\(|href=/);
  });

  it('shows a platform that starts, an agent, its answer, an export and the dashboard', () => {
    for (const words of [
      'npm start',
      'Ready in',
      'serves at http',
      'The answer is 42',
      'first completed',
      'revisions of',
    ])
      expect(shown).toContain(words);
  });

  it('leaves no blanks to renderers, some of which drop them and stretch the rest', () => {
    expect(text).toMatch(/<text [^>]*textLength/);
    expect(text).not.toMatch(/<text[^>]*>(?: |[^<]* {2}|[^<]* <)/);
  });

  it('shows no build', () => {
    expect(shown).not.toContain('Built in');
  });

  it('shows no key and no path of a machine', () => {
    expect(shown).not.toMatch(/apk_\w/);
    expect(shown).not.toMatch(/\/(?:tmp|root|home|work|Users|var)\//);
  });

  it('shows its last screen where motion is not wanted', () => {
    expect(text).toContain('@media (prefers-reduced-motion:reduce)');
    expect(text.match(/class="f last"/g)?.length).toBeGreaterThan(3);
  });
});
