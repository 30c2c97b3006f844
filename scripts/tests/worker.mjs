// One process of the runner: runs the spec files that it is sent, one at a time, and answers with Jest's result of each.
import './sources.mjs';
import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { pathToFileURL } from 'node:url';
import { createEmptyTestResult } from '@jest/test-result';
import { addEventHandler, getState, resetState, run } from 'jest-circus';
import { formatExecError, formatResultsErrors } from 'jest-message-util';
import * as globals from './globals.mjs';
import { quarantinedTests } from './quarantine.mjs';
import { stopSharedServers } from './shared-servers.mjs';

const { expect } = globals;
Object.assign(globalThis, globals);
process.setSourceMapsEnabled(true);
setFlagsFromString('--stack-trace-limit=30');

let files = 0;
const send = process.send.bind(process);
// the code under test must not take the runner for the supervisor of its program
process.send = undefined;
process.on('message', async ({ path, config, globalConfig }) => {
  send(await runFile(path, config, globalConfig));
});
process.once('disconnect', async () => {
  await stopSharedServers().catch((error) => console.error(error));
  // a compilation that waits for a collection would keep the process from its end
  globalThis.gc?.();
  process.exit();
});

async function runFile(path, config, globalConfig) {
  const start = performance.timeOrigin + performance.now();
  const cpu = process.cpuUsage();
  const ofPrograms = endedProgramsMs();
  resetState();
  const state = getState();
  Object.assign(state, { testTimeout: config.testTimeout, maxConcurrency: globalConfig.maxConcurrency });
  state.parentProcess = process;
  if (globalConfig.testNamePattern) state.testNamePattern = new RegExp(globalConfig.testNamePattern, 'i');
  addEventHandler(checkExpectations);
  const quarantined = quarantinedTests(path);
  if (quarantined.size > 0) addEventHandler((event) => skipQuarantined(event, quarantined));
  expect.setState({ testPath: path, expand: globalConfig.expand });
  for (const event of ['uncaughtException', 'unhandledRejection'])
    process.removeAllListeners(event).on(event, failCurrentTest);
  let result;
  let loadedAt = start;
  try {
    // a file that runs again, in watch mode for example, is loaded again; what it imports is not
    await import(`${pathToFileURL(path)}?${++files}`);
    loadedAt = performance.timeOrigin + performance.now();
    result = render(await run(), path, config, globalConfig);
  } catch (error) {
    result = {
      ...createEmptyTestResult(),
      failureMessage: formatExecError(error, config, globalConfig, path),
      testExecError: { message: String(error?.message ?? error), stack: String(error?.stack ?? error) },
    };
  }
  const end = performance.timeOrigin + performance.now();
  const { user, system } = process.cpuUsage(cpu);
  return {
    ...result,
    testFilePath: path,
    displayName: config.displayName,
    workerBytes: process.memoryUsage.rss(),
    perfStats: {
      ...createEmptyTestResult().perfStats,
      start: Math.round(start),
      end: Math.round(end),
      runtime: Math.round(end - start),
      slow: false,
      loadMs: Math.round(loadedAt - start),
      cpuMs: Math.round((user + system) / 1000),
      programsMs: endedProgramsMs() - ofPrograms,
    },
  };
}

/** Processor time of all programs that this process started and that have ended; 0 where the system does not tell. */
function endedProgramsMs() {
  try {
    const ticks = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ');
    return (Number(ticks[13]) + Number(ticks[14])) * 10;
  } catch {
    return 0;
  }
}

/** Counts an error that nothing caught against the test that runs, or else against the file. */
function failCurrentTest(error) {
  const { currentlyRunningTest, unhandledErrors } = getState();
  if (currentlyRunningTest) currentlyRunningTest.errors.push(error);
  else unhandledErrors.push([error, new Error('thrown outside of a test')]);
}

function namesOf(test) {
  const names = [];
  for (let at = test; at?.parent; at = at.parent) names.unshift(at.name);
  return names;
}

function skipQuarantined({ name, test }, quarantined) {
  if (name === 'test_start' && quarantined.has(namesOf(test).join(' › '))) test.mode = 'skip';
}

/** `expect.assertions` and matchers that only note a failure, as Jest's own runner treats them. */
function checkExpectations({ name, test }) {
  if (name === 'test_start') {
    expect.setState({ currentTestName: namesOf(test).join(' '), testFailing: test.failing });
  } else if (name === 'test_done') {
    const { suppressedErrors, numPassingAsserts } = expect.getState();
    test.numPassingAsserts = numPassingAsserts;
    expect.setState({ suppressedErrors: [] });
    test.errors.push(
      ...suppressedErrors,
      ...expect.extractExpectedAssertionsErrors().map(({ error }) => error),
    );
  }
}

function render({ testResults, unhandledErrors, unhandledErrorsDetailed }, path, config, globalConfig) {
  const results = testResults.map(renderTest);
  const count = (status) => results.filter((result) => result.status === status).length;
  const outside = unhandledErrorsDetailed.map((error) => formatExecError(error, config, globalConfig));
  const messages = [formatResultsErrors(results, config, globalConfig, path) ?? [], outside].flat();
  return {
    ...createEmptyTestResult(),
    failureMessage: messages.length > 0 ? messages.join('\n\n') : null,
    numFailingTests: count('failed'),
    numPassingTests: count('passed'),
    numPendingTests: count('pending'),
    numTodoTests: count('todo'),
    testExecError:
      unhandledErrors.length > 0 ? { message: '', stack: unhandledErrors.join('\n') } : undefined,
    testResults: results,
  };
}

function renderTest({ testPath, status, errors, duration, numPassingAsserts, invocations, startedAt }) {
  const [, ...names] = testPath;
  return {
    ancestorTitles: names.slice(0, -1),
    title: names.at(-1),
    fullName: names.join(' '),
    status:
      status === 'skip' ? 'pending' : status === 'todo' ? 'todo' : errors.length > 0 ? 'failed' : 'passed',
    duration,
    failureMessages: errors,
    failureDetails: [],
    invocations,
    location: null,
    numPassingAsserts,
    retryReasons: [],
    startAt: startedAt,
  };
}
