/**
 * `node:http`, not by `import`: that reads every export of the module, and one of them loads Node's WebSocket client, 6 MB
 * and 60 ms in a process that has no use for it.
 */
export const plainHttp = process.getBuiltinModule('node:http');
