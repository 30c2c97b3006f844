// Decides which spec files a change runs, by the graph of modules.
import { dirname } from 'node:path/posix';

const SPEC = /^(apps|libs|test)\/.*\.spec\.tsx?$/;
/** Files that every test depends on without an import. */
const EVERYTHING = /^(package(-lock)?\.json|tsconfig[^/]*\.json|jest\.config\.mjs|scripts\/tests\/.*)$/;
/** A spec file that reaches one of these starts servers or programs; all others are pure. */
const SERVERS = [
  'libs/testing/src/test-postgres.ts',
  'libs/testing/src/test-embedded-kube.ts',
  'libs/testing/src/test-api-server.ts',
  'node:child_process',
];
/** Data by its paths, and the spec files that read it; `readersOf` has the rule for all other data. */
const READERS = [
  [/^(docs\/|scripts\/(generate|reference|runbook)\/|[^/]+\.md$)/, (path) => path.startsWith('test/docs/')],
  [/^charts\//, (path) => path.startsWith('test/chart/')],
  [
    /^apps\/agent-server\/python\//,
    (path, text) => path.startsWith('apps/agent-server/') && /python/i.test(text),
  ],
];
/** Seconds that a spec file is expected to take while no run has measured it. */
const GUESS = { pure: 2, server: 6, border: 30 };
/** Pure spec files up to this duration run for every change. */
const MAX_RING_SECONDS = 2;

/** The shortest way from each module that reaches a seed: [module, …, seed]. Seeds are given as the ends of ways. */
function shortestWays(graph, seeds) {
  const users = new Map();
  for (const [user, loads] of graph)
    for (const path of loads) users.set(path, [...(users.get(path) ?? []), user]);
  const ways = new Map();
  for (const way of seeds) if (!ways.has(way[0])) ways.set(way[0], way);
  // a Map is walked in the order of insertion, and additions are walked as well
  for (const [path, way] of ways)
    for (const user of users.get(path) ?? []) if (!ways.has(user)) ways.set(user, [user, ...way]);
  return ways;
}

/**
 * The modules that read a data file: those that quote its name, or else the name of its closest folder that is quoted.
 * They are looked for in the same app, library or folder of test/, and for testdata/ in the folder that has it. For a
 * file outside of apps/, libs/ and test/, all modules are looked at for the name of its top folder.
 */
function readersOf(file, sources) {
  const modulesThat = (reads) =>
    [...sources].filter(([path, text]) => reads(path, text)).map(([path]) => path);
  const row = READERS.find(([pattern]) => pattern.test(file));
  if (row) return modulesThat((path, text) => SPEC.test(path) && row[1](path, text));
  const folder = /^(apps|libs|test)\/.*?(?=testdata\/)/.exec(file) ?? /^(apps|libs|test)\/[^/]+\//.exec(file);
  const area = folder?.[0] ?? '';
  const parts = file.slice(area.length).split('/');
  for (const name of area ? parts.reverse() : parts.slice(0, 1)) {
    const quoted = new RegExp(`['"\`/]${RegExp.escape(name)}['"\`/]`);
    const readers = modulesThat((path, text) => path !== file && path.startsWith(area) && quoted.test(text));
    if (readers.length > 0 && name !== 'src') return readers;
  }
  return [];
}

/** Orders ways: spec files beside the change, then the shortest, then those of the closest name, then the quickest. */
function nearestFirst(secondsOf) {
  const rank = (way) => {
    const [spec, changed] = [way[0], way.at(-1)];
    const shared = [...spec, ''].findIndex((character, place) => character !== changed[place]);
    return [dirname(spec) === dirname(changed) ? 0 : 1, way.length, -shared, secondsOf(spec)];
  };
  return (one, other) => {
    const ranks = rank(other);
    const differences = rank(one).map((value, place) => value - ranks[place]);
    return differences.find((difference) => difference !== 0) ?? 0;
  };
}

/**
 * Plans the spec files of a run.
 * @param sources texts of modules by path
 * @param graph what each module loads
 * @param changed paths; they may be data files, and deleted
 * @param durations seconds of spec files in a former run
 * @param maxSeconds total of the selected spec files, without those of the ring
 * @returns `selected`: ways from spec files to changed files, nearest first. `ring`: the other quick pure spec files.
 * `left`: the spec files that are reached or pure, and do not fit. `borders`: the number of spec files of test/, which
 * start platforms, that nothing reaches but by the platform. `global`: changes that every test depends on. `unread`:
 * changes that no module reads. `servers`: whether selected spec files start servers or programs.
 */
export function planSpecs(sources, graph, changed, { durations = {}, maxSeconds }) {
  const specs = [...sources.keys()].filter((path) => SPEC.test(path));
  const serverWays = shortestWays(
    graph,
    SERVERS.map((path) => [path]),
  );
  const kindOf = (spec) => (!serverWays.has(spec) ? 'pure' : spec.startsWith('test/') ? 'border' : 'server');
  const secondsOf = (spec) => durations[spec] ?? GUESS[kindOf(spec)];
  const isRing = (spec) => kindOf(spec) === 'pure' && secondsOf(spec) <= MAX_RING_SECONDS;

  const used = new Set([...graph.values()].flatMap((loads) => [...loads]));
  const global = changed.filter((file) => EVERYTHING.test(file));
  const data = changed.filter((file) => !used.has(file) && !SPEC.test(file) && !EVERYTHING.test(file));
  const readers = data.flatMap((file) => readersOf(file, sources).map((path) => [path, file]));
  const seeds = [...changed.map((file) => [file]), ...readers];
  const ways = shortestWays(graph, seeds);
  // every border file reaches the platform: they run for changes of themselves, their support modules and their data
  const ownSeeds = seeds.filter(([path]) => path.startsWith('test/'));
  const borderWays = shortestWays(graph, ownSeeds);

  let total = 0;
  const selected = specs
    .map((spec) => (kindOf(spec) === 'border' ? borderWays : ways).get(spec))
    .filter(Boolean)
    .sort(nearestFirst(secondsOf))
    .filter(([spec]) => {
      const seconds = isRing(spec) ? 0 : secondsOf(spec);
      const fits = total === 0 || total + seconds <= maxSeconds;
      if (fits) total += seconds;
      return fits;
    });
  const runs = new Set(selected.map(([spec]) => spec));
  const others = specs.filter((spec) => !runs.has(spec));
  const isOwed = (spec) =>
    kindOf(spec) === 'pure' || (kindOf(spec) === 'border' ? borderWays : ways).has(spec);
  return {
    selected,
    ring: others.filter(isRing),
    left: others.filter((spec) => !isRing(spec) && isOwed(spec)),
    borders: others.filter((spec) => kindOf(spec) === 'border' && !isOwed(spec)).length,
    servers: selected.some(([spec]) => kindOf(spec) !== 'pure'),
    global,
    unread: data.filter((file) => !readers.some(([, read]) => read === file)),
  };
}
