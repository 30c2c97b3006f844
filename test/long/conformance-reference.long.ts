import { writeFileSync } from 'node:fs';
import { testPostgres } from '#lib/testing';
import { ServerProcess } from '../../apps/agent-server/testdata/start-server.js';
import {
  agentFolder,
  differencesOf,
  play,
  removeFolder,
  SCENARIO_NAMES,
} from '../conformance/reference/compare-servers.js';
import type { Difference } from '../conformance/reference/find-differences.js';
import { isListed, LISTED_DIFFERENCES } from '../conformance/reference/listed-differences.js';
import { REFERENCE_PYTHON, ReferenceServer } from '../conformance/reference/reference-server.js';

if (!REFERENCE_PYTHON)
  process.stderr.write(
    'SKIPPED: comparison with the reference server: AGENTPLANE_TEST_REFERENCE names no interpreter; ' +
      'bash test/conformance/install-reference.sh FOLDER installs one\n',
  );

/** Where all differences are written, as JSON, for whoever looks for their causes. */
const written = process.env['REFERENCE_DIFFERENCES'];

/** The agent server and the reference server for Python get the same requests, with the same graphs and libraries. */
(REFERENCE_PYTHON ? describe : describe.skip)('the reference server for Python', () => {
  const postgres = testPostgres();
  let found: ReadonlyMap<string, readonly Difference[]> = new Map();

  beforeAll(async () => {
    const python = REFERENCE_PYTHON ?? '';
    const folders = await Promise.all([agentFolder(), agentFolder()]);
    const [own, other] = folders;
    const { uri } = await postgres.freshDatabase();
    const ours = await ServerProcess.start({ uri, folder: own, env: { AGENTPLANE_PYTHON: python } });
    const reference = await ReferenceServer.start(python, other);
    try {
      const [mine, theirs] = [await play(ours.url, python), await play(reference.url, python)];
      found = differencesOf(mine, theirs);
    } finally {
      await Promise.all([ours.stop(), reference.stop()]);
      await Promise.all(folders.map(removeFolder));
    }
    if (written !== undefined)
      writeFileSync(written, JSON.stringify([...found.values()].flat(), undefined, 1));
  });

  it.each(SCENARIO_NAMES)('answers as this server, but for what is listed: %s', (name) => {
    const differences = found.get(name);
    expect(differences).toBeDefined();
    const unlisted = differences?.filter(
      (one) => !LISTED_DIFFERENCES.some((listed) => isListed(one, listed)),
    );
    expect(unlisted).toEqual([]);
  });

  it.each(LISTED_DIFFERENCES.map((listed) => [listed.where, listed] as const))(
    'still differs at %s',
    (_, listed) => {
      const all = [...found.values()].flat();
      expect(all.some((one) => isListed(one, listed))).toBe(true);
    },
  );
});
