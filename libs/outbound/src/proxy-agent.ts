import type http from 'node:http';
import https from 'node:https';
import { Duplex } from 'node:stream';
import { plainHttp } from '#lib/http';
import type { AddressGuard } from './address-guard.js';

type Options = http.ClientRequestArgs;
type Callback = (error: Error | null, stream: Duplex) => void;

const KEEP = { keepAlive: true, maxSockets: 16 };

/** An agent whose connections lead through the proxy, once the guard has seen where to. */
export function proxyAgent(
  proxy: string,
  isTls: boolean,
  guard: Pick<AddressGuard, 'judgeAhead'>,
): http.Agent {
  // Node's own way through proxies: a tunnel by CONNECT for https, the whole URL in the request for http
  const agent = isTls
    ? new https.Agent({ ...KEEP, proxyEnv: { https_proxy: proxy } })
    : new plainHttp.Agent({ ...KEEP, proxyEnv: { http_proxy: proxy } });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options: Options, callback: Callback = () => undefined) => {
    guard.judgeAhead(options.host ?? '', (refusal) => {
      if (refusal) return callback(refusal, new Duplex());
      // a tunnel calls back by itself, once it is established
      if (isTls) connect(options, callback);
      else callback(null, connect(options, () => undefined) as Duplex);
    });
    return undefined;
  };
  return agent;
}
