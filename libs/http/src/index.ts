/** Common parts of the platform's HTTP servers before a route is reached. */
export { answerDetail } from './answer-detail.js';
export { asksToUpgrade } from './asks-to-upgrade.js';
export { takenBy, limitServer, type Cut, pathShape } from './limit-server.js';
export { answerBrokenRequests, guardServer, GUARDED_SERVER } from './guard-server.js';
export { boundConnections } from './bound-connections.js';
export {
  boundInterim,
  joinSockets,
  PAGE_COOKIE,
  pageCookies,
  setsPageCookie,
  withoutPageCookie,
  passUpgrade,
} from './pass-upgrade.js';
export { closeServer } from './close-server.js';
export { ConnectionRoom, type RoomReport } from './connection-room.js';
export { cutSocket } from './cut-socket.js';
export { whenExchangeEnds } from './exchange-end.js';
export { listenOn } from './listen-on.js';
export { Pieces, bodyPieces, bodyTooLarge, bodyTooLargeText, joinPieces, readBody } from './read-body.js';
export { plainHttp } from './plain-http.js';
export { protectAnswer } from './protect-answer.js';
export { SCHEMALESS } from './schemaless.js';
export { sourceOf, TokenBuckets, WrongKeys } from './wrong-keys.js';
export { SERVER_LIMITS, serverOptions, type ServerLimits } from './server-limits.js';
export { upgradeAnswer } from './upgrade-answer.js';
