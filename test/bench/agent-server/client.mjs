// The client of all servers alike: node:http, as fetch would take more CPU than a server.
import { Agent, request } from 'node:http';

const JSON_TYPE = { 'content-type': 'application/json' };

export class Client {
  // unused connections go before a server closes them, which would be the failure of the next request
  #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 2_000 });

  constructor(port) {
    this.port = port;
  }

  /** @returns {Promise<string>} the body of a good answer */
  call(method, path, body) {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.port, path, method, agent: this.#agent };
      const sent = request({ ...options, headers: body === undefined ? {} : JSON_TYPE }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part) => (text += part));
        response.on('end', () =>
          response.statusCode < 300
            ? resolve(text)
            : reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`)),
        );
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async post(path, body) {
    return JSON.parse(await this.call('POST', path, JSON.stringify(body)));
  }

  /**
   * Reads a stream to its end.
   * @param event whose occurrences are the tokens
   * @returns {Promise<{first: number, firstToken: number, lag: number, events: number, tokens: number}>} milliseconds
   *   from the request to the first event of any kind and the first token, and from the last token to the end
   */
  stream(body, event) {
    const tokensOf = new Occurrences(`event: ${event}`);
    const eventsOf = new Occurrences('event: ');
    const begun = performance.now();
    let [first, firstToken, lastToken, events, tokens] = [0, 0, 0, 0, 0];
    let last = Buffer.alloc(0);
    return new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port: this.port,
        path: '/runs/stream',
        method: 'POST',
        agent: this.#agent,
      };
      const sent = request({ ...options, headers: JSON_TYPE }, (response) => {
        response.on('data', (part) => {
          const now = performance.now();
          last = part;
          const [more, moreTokens] = [eventsOf.count(part), tokensOf.count(part)];
          if (events === 0 && more > 0) first = now - begun;
          if (tokens === 0 && moreTokens > 0) firstToken = now - begun;
          if (moreTokens > 0) lastToken = now;
          events += more;
          tokens += moreTokens;
        });
        response.on('end', () => {
          const lag = performance.now() - lastToken;
          if (tokens >= 200) resolve({ first, firstToken, lag, events, tokens });
          else
            reject(
              new Error(`stream of port ${this.port}: ${tokens} tokens, and at last ${last.subarray(-300)}`),
            );
        });
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(body));
    });
  }

  close() {
    this.#agent.destroy();
  }
}

/** Counts a word in bytes that come in pieces of any size. */
class Occurrences {
  #rest = Buffer.alloc(0);

  constructor(word) {
    this.word = Buffer.from(word);
  }

  count(piece) {
    const { length } = this.word;
    const across = Buffer.concat([this.#rest, piece.subarray(0, length - 1)]);
    const count = this.#countIn(across) + this.#countIn(piece);
    this.#rest = Buffer.from(
      piece.length >= length ? piece.subarray(1 - length) : across.subarray(1 - length),
    );
    return count;
  }

  #countIn(bytes) {
    let count = 0;
    const { word } = this;
    for (let at = bytes.indexOf(word); at >= 0; at = bytes.indexOf(word, at + word.length)) count++;
    return count;
  }
}
