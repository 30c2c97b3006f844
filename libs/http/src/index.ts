/** What the HTTP servers of this platform have in common before a route is reached. */
export { answerSocket } from './answer-socket.js';
export { takenBy } from './answer-watch.js';
export { answerBrokenRequests } from './broken-requests.js';
export { boundConnections } from './bound-connections.js';
export { BufferBudget, type BufferAccount } from './buffer-budget.js';
export { ConnectionRoom, type RoomReport } from './connection-room.js';
export { cutSocket } from './cut-socket.js';
export { guardServer, GUARDED_SERVER } from './guard-server.js';
export { limitServer, type Cut } from './limit-server.js';
export { pathShape } from './path-shape.js';
export { Pieces } from './pieces.js';
export { plainHttp } from './plain-http.js';
export { protectAnswer } from './protect-answer.js';
export { bodyPieces, bodyTooLarge, bodyTooLargeText, joinPieces, readBody } from './read-body.js';
export { SCHEMALESS } from './schemaless.js';
export { SERVER_LIMITS, serverOptions, type ServerLimits } from './server-limits.js';
export { TokenBuckets } from './token-buckets.js';
export { WrongKeys } from './wrong-keys.js';
