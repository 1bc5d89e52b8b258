// usage: node drive.mjs CHROMIUM PROFILE_FOLDER URL UP_KEY   opens a page with flame graphs, uses it, prints as JSON what it saw.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [chromium, profile, url, up] = process.argv.slice(2);
const chrome = spawn(
  chromium,
  ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"],
  { stdio: "ignore" },
);
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function until(look) {
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
const problems = [];
const requests = [];
socket.onmessage = (event) => {
  const told = JSON.parse(event.data);
  if (told.id) waiting.get(told.id)(told.result);
  else if (told.method === "Runtime.exceptionThrown") problems.push(told.params.exceptionDetails.exception.description);
  else if (told.method === "Log.entryAdded") problems.push(told.params.entry.text);
  else if (told.method === "Network.requestWillBeSent") requests.push(told.params.request.url);
};
let last = 0;
function call(method, params = {}) {
  last += 1;
  socket.send(JSON.stringify({ id: last, method, params }));
  return new Promise((done) => waiting.set(last, done));
}
const see = async (expression) => (await call("Runtime.evaluate", { expression, returnByValue: true })).result?.value;
async function press(key) {
  const code = { Enter: 13, Escape: 27 }[key];
  await call("Input.dispatchKeyEvent", { type: "keyDown", key, code: key, windowsVirtualKeyCode: code });
  await call("Input.dispatchKeyEvent", { type: "keyUp", key });
}
const resize = (width) =>
  call("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
const scheme = (value) => call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });

for (const domain of ["Runtime", "Log", "Page", "Network"]) await call(`${domain}.enable`);
await resize(1280);
await call("Page.navigate", { url });
await until(() => see(`document.readyState === "complete" && document.querySelectorAll("svg.flame input").length`));
const seen = { problems, requests };
// All that follows is about the page's first flame graph.
const frames = `[...document.querySelector("svg.flame").querySelectorAll("svg.f")]`;
const shown = `${frames}.filter((box) => box.style.display !== "none")`;
const status = `document.querySelector(".status").textContent`;
const title = `document.activeElement.querySelector("title").textContent`;
seen.frames = await see(`${frames}.length`);
await see(`${frames}[1].querySelector("rect").dispatchEvent(new MouseEvent("click", { bubbles: true }))`);
seen.clicked = await see(title);
seen.zoomed = await see(`${shown}.length`);
await press(up);
await until(() => see(`document.activeElement.getAttribute("data-d") === "2"`));
seen.above = await see(title);
await press("Enter");
seen.told = await see(status);
await press("Escape");
seen.whole = await see(`${shown}.length`);
await press("/");
await until(() => see(`document.activeElement.className === "search"`));
await call("Input.insertText", { text: "LEAF" });
await until(() => see(`${status} !== ""`));
seen.search = await see(status);
seen.overflow = {};
for (const width of [400, 1280]) {
  await resize(width);
  await pause(200);
  seen.overflow[width] = await see(`document.documentElement.scrollWidth - window.innerWidth`);
}
seen.paper = {};
for (const value of ["light", "dark"]) {
  await scheme(value);
  seen.paper[value] = await see(`getComputedStyle(document.body || document.documentElement).backgroundColor`);
}
process.stdout.write(JSON.stringify(seen));
socket.close();
chrome.kill();
await new Promise((done) => chrome.on("exit", done));
process.exit(0);
