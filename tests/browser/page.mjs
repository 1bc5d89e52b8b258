// page.mjs: a page of headless Chromium over its DevTools protocol, with what went wrong in it and what it fetched.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [chromium, profile] = process.argv.slice(2);
const chrome = spawn(
  chromium,
  ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"],
  { stdio: "ignore" },
);
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(look) {
  for (;;) {
    try {
      const found = await look();
      if (found) return found;
    } catch {
      // Not there yet.
    }
    await pause(50);
  }
}

const port = await until(() => readFileSync(join(profile, "DevToolsActivePort"), "utf8").split("\n")[0]);
const target = await until(async () => {
  const targets = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
  return targets.find((found) => found.type === "page");
});
const socket = new WebSocket(target.webSocketDebuggerUrl);
await new Promise((done) => (socket.onopen = done));
const waiting = new Map();
export const problems = [];
export const requests = [];
socket.onmessage = (event) => {
  const told = JSON.parse(event.data);
  if (told.id) waiting.get(told.id)(told.result);
  else if (told.method === "Runtime.exceptionThrown") problems.push(told.params.exceptionDetails.exception.description);
  else if (told.method === "Log.entryAdded") problems.push(told.params.entry.text);
  else if (told.method === "Network.requestWillBeSent") requests.push(told.params.request.url);
};
let last = 0;
export function call(method, params = {}) {
  last += 1;
  socket.send(JSON.stringify({ id: last, method, params }));
  return new Promise((done) => waiting.set(last, done));
}
export const see = async (expression) => (await call("Runtime.evaluate", { expression, returnByValue: true })).result?.value;
export async function press(key) {
  const code = { Enter: 13, Escape: 27 }[key];
  await call("Input.dispatchKeyEvent", { type: "keyDown", key, code: key, windowsVirtualKeyCode: code });
  await call("Input.dispatchKeyEvent", { type: "keyUp", key });
}

/** Prints what was seen, and ends. */
export async function close(seen) {
  process.stdout.write(JSON.stringify(seen));
  socket.close();
  chrome.kill();
  await new Promise((done) => chrome.on("exit", done));
  process.exit(0);
}
