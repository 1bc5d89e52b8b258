// usage: node engine.js FOLDER   (the folder with Perfetto's engine_bundle.js and trace_processor.wasm)
// Perfetto's trace processor as a byte pipe: TraceProcessorRpcStream on standard input, answers on standard output.
const fs = require("fs"), path = require("path"), vm = require("vm");
const folder = process.argv[2];
const read = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));
const log = (...words) => process.stderr.write(words.join(" ") + "\n");
const port = { onmessage: null, postMessage: (bytes) => fs.writeSync(1, bytes) };
const worker = {
  console: { log, warn: log, error: log }, setTimeout, clearTimeout, setInterval, clearInterval, queueMicrotask,
  TextDecoder, TextEncoder, performance, URL, Response, crypto: globalThis.crypto,
  WorkerGlobalScope: function () {}, importScripts: function () {}, location: { href: "file:///engine_bundle.js" },
  XMLHttpRequest: class {
    open(_, url) { this.url = url; }
    send() {
      const bytes = read(this.url);
      this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
      this.status = 200;
    }
  },
  fetch: async (url) => new Response(read(url), { headers: { "content-type": "application/wasm" } }),
};
worker.self = worker.globalThis = worker;
vm.createContext(worker);
vm.runInContext(read("engine_bundle.js").toString(), worker);
worker.onmessage({ data: port });
const inWorker = vm.runInContext("(length) => new Uint8Array(length)", worker);
const waiting = [];
function give(bytes) {
  const copy = inWorker(bytes.length);
  copy.set(bytes);
  port.onmessage({ data: copy });
}
process.stdin.on("data", (bytes) => (port.onmessage ? give(bytes) : waiting.push(bytes)));
process.stdin.on("end", () => process.exit(0));
const timer = setInterval(() => {
  if (!port.onmessage) return;
  clearInterval(timer);
  waiting.splice(0).forEach(give);
}, 50);
