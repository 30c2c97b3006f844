import { constants, type IncomingHttpHeaders } from 'node:http2';
import type { Clock } from '#lib/time';
import type { OwnCall } from '../webhook/post-to-own-app.js';
import type { AppProcess } from './app-exchange.js';
import { CALLER_HEADER, callerText, goesOn, HOST_HEADER } from './control.js';

/** Limit per answer; the rest is cut off. */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Posts to an agent's HTTP app and answers the status. The request has no number, so the app cannot leave it to the server.
 * @param answerMs until the end of the answer
 * @throws when the app ends, or does not answer in time
 */
export function postToApp(
  process: AppProcess,
  { path, headers, body, caller }: OwnCall,
  answerMs: number,
  clock: Clock,
): Promise<number> {
  const sent = Object.entries(headers).filter(([name]) => goesOn(name.toLowerCase(), ''));
  const stream = process.request(
    {
      ...Object.fromEntries(sent),
      ':method': 'POST',
      ':path': path,
      [HOST_HEADER]: 'http://localhost',
      ...(caller ? { [CALLER_HEADER]: callerText(caller) } : {}),
    },
    false,
  );
  return new Promise((resolve, reject) => {
    const cancel = clock.after(answerMs, () => {
      reject(new Error(`the agent's HTTP app did not answer within ${answerMs / 1000} s`));
      stream.close(constants.NGHTTP2_CANCEL);
    });
    stream.once('response', (answer: IncomingHttpHeaders) => resolve(Number(answer[':status'])));
    let bytes = 0;
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > MAX_ANSWER_BYTES) stream.close(constants.NGHTTP2_CANCEL);
    });
    stream.on('error', reject);
    stream.once('close', () => {
      cancel();
      // after an answer this changes nothing
      reject(new Error("the agent's HTTP app broke off"));
    });
    stream.end(body);
  });
}
