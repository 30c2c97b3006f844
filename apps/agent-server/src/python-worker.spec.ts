import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const python = process.env['AGENTPLANE_TEST_PYTHON'] ?? '';
if (!python) process.stderr.write('SKIPPED: worker in Python: AGENTPLANE_TEST_PYTHON names no interpreter\n');

/** Output of a script that imports modules of the worker. */
function run(script: string): string {
  const cwd = join(import.meta.dirname, '..', 'python');
  return execFileSync(python, ['-c', `import asyncio\n${script}\nasyncio.run(main())`], { cwd }).toString();
}

(python ? describe : describe.skip)('the worker in Python', () => {
  it('reads a body on where an app ended its wait', () => {
    const script = `
from agentplane_worker.http_server import Exchange, Head
async def main():
    reader = asyncio.StreamReader()
    exchange = Exchange(Head("POST", b"/", [(b"transfer-encoding", b"chunked")]), reader, None)
    for sent in (b"", b"5\\r\\n", b"he", b"llo", b"\\r\\n0\\r\\n"):
        reader.feed_data(sent)
        try:
            print(await asyncio.wait_for(exchange.read(), 0.01))
        except asyncio.TimeoutError:
            print("ended")
    reader.feed_data(b"\\r\\n")
    print(await exchange.read())`;
    const ended = ['ended', 'ended', 'ended', 'ended'];
    expect(run(script).trim().split('\n')).toEqual([...ended, "b'hello'", "b''"]);
  });

  it('names the place of a number without copying it for each value, and cuts it', () => {
    const script = `
from agentplane_worker.wire import dumps, exact
async def main():
    many = {str(n): n for n in range(100_000)}
    print(len(exact(dumps({"a" * 2**20: many}), "it")))
    for found in ({"a": [1, {"b": 2**53}]}, {"a" * 2**20: {**many, "b": 1e16}}):
        try:
            exact(dumps(found), "it")
        except ValueError as error:
            print(error)`;
    expect(run(script).trim().split('\n')).toEqual([
      '1',
      'it.a.b holds a number beyond 2**53, which would be rounded; write it as a text',
      `it.${'a'.repeat(197)}… holds a number beyond 2**53, which stands for others too; write it as a text`,
    ]);
  });

  it('writes the first output at once, what follows soon in one piece, and the rest before what ends the run', () => {
    const script = `
from agentplane_worker import channel as gathering
# so long that a busy machine does not end it
gathering._GATHER_S = 2
async def main():
    writes, ahead, loop = [], [0], asyncio.get_running_loop()
    time = loop.time
    loop.time = lambda: time() + ahead[0]
    async def later():
        ahead[0] += 2.5
        for _ in range(3):
            await asyncio.sleep(0)
    class Transport:
        write = staticmethod(writes.append)
    channel = gathering.Channel(print, print)
    channel._transport = Transport()
    def output(text):
        channel.send_output("event", 1, b"", text)
    output(b"first")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    print(len(writes))
    for text in (b"a", b"b", b"c"):
        output(text)
        await asyncio.sleep(0)
    print(len(writes))
    await later()
    print(len(writes), writes[1].count(b"a") + writes[1].count(b"b") + writes[1].count(b"c"))
    output(b"x")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    output(b"last")
    channel.send("outcome", 1, b"", b"end")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    print(len(writes), writes[-1].index(b"last") < writes[-1].index(b"end"))
    await later()
    print(len(writes))`;
    expect(run(script).trim().split('\n')).toEqual(['1', '1', '2 3', '3 True', '3']);
  });

  it('sends no head that the server would not read', () => {
    const script = `
from types import SimpleNamespace
from agentplane_worker.channel import Channel
from agentplane_worker.process import Process, Public, failure_of
from agentplane_worker.server import Server
from agentplane_worker.wire import SecretWords
async def main():
    long, heads = "a" * 17_000_000, []
    try:
        await asyncio.wait_for(Server(Channel(print, print)).fetch("get-checkpoint", {"checkpointId": long}), 0.1)
    except Exception as error:
        print(type(error).__name__, error)
    async def answer(kind, question):
        raise Public("bad_request", long)
    process = Process()
    process.answer = answer
    process.channel = SimpleNamespace(send=lambda kind, id, head: heads.append(head))
    await process._answer(1, "state", {})
    print(len(heads[0]) < 20_000)
    failure = failure_of(ValueError(f"of {long}"), f"at b{long}", SecretWords(["of aaaa"]))
    print([len(text) < 20_000 for text in failure.values()], failure["message"][:20])`;
    expect(run(script).trim().split('\n')).toEqual([
      'StoreRefused the head of a message "fetch" has 17000043 bytes; the limit is 16777216',
      'True',
      '[True, True, True] [hidden]aaaaaaaaaaaa',
    ]);
  });

  it('reports the threads of handlers of which more hang, those of coroutines too', () => {
    const script = `
import threading
from agentplane_worker.auth import AuthProcess
from agentplane_worker.threads import Threads
async def main():
    process, begun, end = AuthProcess(), threading.Event(), threading.Event()
    process.threads = Threads("asyncio")
    asyncio.get_running_loop().set_default_executor(process.threads)
    call = asyncio.create_task(asyncio.to_thread(lambda: (begun.set(), end.wait())))
    while not begun.is_set():
        await asyncio.sleep(0.01)
    call.cancel()
    await asyncio.wait([call])
    for _ in range(3):
        await asyncio.sleep(0)
    print(process.thread_report()["givenUp"])
    end.set()`;
    expect(run(script).trim()).toBe('1');
  });

  it('keeps nothing of a plain function that raised or got no thread', () => {
    const script = `
import gc, time, weakref
from agentplane_worker.threads import Threads
class State: pass
def fail(state): raise ValueError("no")
async def main():
    gc.disable()
    threads, state = Threads("t"), State()
    kept, call = weakref.ref(state), threads.submit(fail, state)
    print(call.exception())
    del state, call
    for _ in range(100):
        if kept() is None: break
        time.sleep(0.01)
    print(kept())
    threads.shutdown()
    try:
        threads.submit(fail, 1)
    except RuntimeError:
        print(threads.report()["waiting"])`;
    expect(run(script).trim().split('\n')).toEqual(['no', 'None', '0']);
  });

  it('stops a run whose stop arrives together with it', () => {
    const script = `
from agentplane_worker.frames import Frame
from agentplane_worker.host import Host
from agentplane_worker.wire import dumps
class Channel:
    def send(self, kind, number, head=b"", body=b""):
        print(kind, number, head.decode())
class Worker:
    pass
async def main():
    host = Host()
    host.channel = Worker.channel = Channel()
    host._worker, Worker.server, Worker.secrets = Worker, Worker, None
    Worker.loop = asyncio.get_running_loop()
    kwargs = {"stream_mode": ["values"]}
    run = {"runId": "r", "threadId": "t", "graphId": "g", "isTemporary": True, "kwargs": kwargs}
    for kind, head in (("perform", {}), ("stop", {"reason": "handed-back"})):
        host.handle(Frame(kind, 7, dumps(head), dumps(run)))
    await asyncio.wait(host._tasks)`;
    expect(run(script)).toBe('outcome 7 {"outcome":{"kind":"handed-back"}}\n');
  });

  it('refuses vectors that are longer than a frame', () => {
    const script = `
from types import SimpleNamespace
from agentplane_worker.host import Host
async def main():
    async def embed(texts): return [[0.123456789] * 10 for _ in texts]
    host = Host()
    host._questions = host._worker = SimpleNamespace(max_text_bytes=1_000)
    host._embedder = SimpleNamespace(aembed_documents=embed)
    for count in (20, 30):
        try:
            print(len(await host.answer("embed", {"texts": ["a"] * count, "isQuery": False})))
        except Exception as error:
            print(type(error).__name__, error)`;
    expect(run(script).trim().split('\n')).toEqual([
      '2441',
      'Public The answer about the embed has 3661 bytes; the limit is 3000',
    ]);
  });
});
