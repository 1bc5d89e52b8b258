// usage: node drive.mjs CHROMIUM PROFILE_FOLDER URL UP_KEY   opens a page with flame graphs, uses it, prints as JSON what it saw.
import { call, close, pause, press, problems, requests, see, until } from "./page.mjs";

const [url, up] = process.argv.slice(4);
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
await close(seen);
