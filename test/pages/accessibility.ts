import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../support/platform.js';
import type { Chromium } from './chromium.js';

/** The rules of axe as a script; the debugger runs it, whatever the policy of the page. */
const AXE = readFileSync(join(repository, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');

/** Violations of axe on the page that is open: the rule and the first elements. */
export async function violationsOf(browser: Chromium): Promise<readonly unknown[]> {
  await browser.read(AXE);
  const found = await browser.resolve(
    'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))]))',
  );
  return found as readonly unknown[];
}
