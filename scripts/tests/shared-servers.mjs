// Servers that the spec files of one process share. Each is started by the first file that needs it and stopped with the
// process; `#lib/testing` registers how.
const stops = (globalThis[Symbol.for('agentplane.sharedServers')] ??= []);

/** Stops them in the reverse order of their starts. */
export async function stopSharedServers() {
  for (let stop = stops.pop(); stop; stop = stops.pop()) await stop();
}
