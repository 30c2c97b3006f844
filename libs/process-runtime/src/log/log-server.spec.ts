import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { certificates, type TestCertificates } from '../testdata/certificates.js';
import { createLogger } from '#lib/telemetry';
import { FakeClock, temporaryFolder } from '#lib/testing';
import { systemClock } from '#lib/time';
import { LogFile } from './log-file.js';
import { type ContainerLog, LogServer } from './log-server.js';

const folder = temporaryFolder();
const clock = new FakeClock('2026-03-01T12:00:00Z');

describe('logs of pods', () => {
  const logFolder = join(folder, 'main');
  let issued: TestCertificates;
  let server: LogServer;
  let port = 0;
  let current: LogFile;

  beforeAll(async () => {
    issued = await certificates();
    const before = new LogFile(logFolder, 0, clock);
    before.write('stdout', 'the attempt before\n');
    before.close();
    current = new LogFile(logFolder, 1, clock);
    current.write('stdout', 'one\ntwo\nthr');
    current.write('stderr', 'an error\n');
    await clock.advance(60_000);
    current.write('stdout', 'ee\n');
    const loopFolder = join(folder, 'looping');
    const crashed = new LogFile(loopFolder, 0, clock);
    crashed.write('stdout', 'its last words\n');
    crashed.close();
    const found = new Map<string, ContainerLog>([
      ['pod/main', { folder: logFolder, newestAttempt: 1, waitingReason: undefined, live: current }],
      [
        'looping/main',
        { folder: loopFolder, newestAttempt: 0, waitingReason: 'CrashLoopBackOff', live: undefined },
      ],
    ]);
    server = new LogServer({
      serving: issued,
      logs: { find: (_namespace, pod, container) => found.get(`${pod}/${container}`) },
      mayRead: ({ user, groups }) => Promise.resolve(user === 'client' && groups.includes('system:masters')),
      clock: { ...systemClock, now: () => clock.now() },
      log: createLogger('test', 'silent'),
    });
    port = await server.listen(0);
  });

  afterAll(() => server.stop());

  async function read(
    path: string,
    group = 'system:masters',
    onText?: (text: string) => void,
  ): Promise<{ status: number; text: string }> {
    const credentials = group === '' ? {} : await issued.client(group);
    return new Promise((resolve, reject) => {
      const call = request(
        { host: '127.0.0.1', port, path, ca: issued.clientCa, agent: false, ...credentials },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
            onText?.(text);
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      call.on('error', reject);
      call.end();
    });
  }

  it.each([
    ['all of it', '', 'one\ntwo\nan error\nthree\n'],
    ['the last lines', '?tailLines=2', 'an error\nthree\n'],
    ['what is not older', '?sinceSeconds=30', 'three\n'],
    ['times before the lines', '?tailLines=1&timestamps=true', '2026-03-01T12:01:00.000Z three\n'],
    ['no more bytes than asked for', '?limitBytes=6', 'one\ntw'],
    ['the attempt before', '?previous=true', 'the attempt before\n'],
  ])('serves %s', async (_name, query, text) => {
    expect(await read(`/containerLogs/here/pod/main${query}`)).toEqual({ status: 200, text });
  });

  it.each([
    ['an unknown pod', '/containerLogs/here/other/main', 404],
    ['an unknown container', '/containerLogs/here/pod/other', 404],
    ['another path', '/exec/here/pod/main', 404],
  ])('answers %s with %s', async (_name, path, status) => {
    expect((await read(path)).status).toBe(status);
  });

  it.each(['', '?previous=true'])('shows the last attempt while the next one waits%s', async (query) => {
    expect((await read(`/containerLogs/here/looping/main${query}`)).text).toBe('its last words\n');
  });

  it('refuses every client but the API server', async () => {
    expect((await read('/containerLogs/here/pod/main', 'system:nodes')).status).toBe(403);
    await expect(read('/containerLogs/here/pod/main', '')).rejects.toThrow();
  });

  it('follows until the container has ended', async () => {
    let hasMore = false;
    const answer = await read(
      '/containerLogs/here/pod/main?follow=true&tailLines=1',
      'system:masters',
      (text) => {
        if (hasMore || !text.includes('three')) return;
        hasMore = true;
        current.write('stdout', 'later\n');
        current.write('stdout', 'without an end');
        current.close();
      },
    );
    expect(answer.text).toBe('three\nlater\nwithout an end\n');
  });

  it('keeps two files of an attempt and the logs of two attempts', async () => {
    const small = join(folder, 'small');
    for (const attempt of [0, 1, 2]) {
      const file = new LogFile(small, attempt, clock, 200);
      for (let line = 0; line < 20; line++) file.write('stdout', `line ${line}\n`);
      file.close();
    }
    const { readdirSync } = await import('node:fs');
    expect(readdirSync(small).sort()).toEqual(['1.log', '1.log.1', '2.log', '2.log.1']);
  });
});
