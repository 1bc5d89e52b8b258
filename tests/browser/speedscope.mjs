// usage: node speedscope.mjs CHROMIUM PROFILE_FOLDER URL   opens speedscope with a profile; prints as JSON what it made of it.
import { call, close, problems, see, until } from "./page.mjs";

const [url] = process.argv.slice(4);
await call("Runtime.enable");
await call("Page.enable");
await call("Page.navigate", { url });
await until(() => see(`document.title.includes(" - ") || document.body.innerText.includes("went wrong")`));
const seen = { problems, title: await see("document.title"), rows: {} };
// "3" is the table of functions, "n" and "p" the next and the previous profile of the file.
const type = (text) => call("Input.dispatchKeyEvent", { type: "keyDown", key: text, text });
await type("3");
const rows = `[...document.querySelectorAll("tr")].slice(1).map((row) => [...row.cells].map((cell) => cell.innerText.trim()))`;
const name = `document.body.innerText.match(/.* \\(\\d+\\/\\d+\\)/)?.[0]`;
async function go(key) {
  const before = await see(name);
  await type(key);
  await until(async () => (await see(name)) !== before);
}
await until(() => see(name));
while (!(await see(name)).includes("(1/")) await go("p");
for (;;) {
  await until(() => see(`${rows}.length > 0`));
  const profile = await see(name);
  seen.rows[profile] = await see(rows);
  const [, number, of] = /\((\d+)\/(\d+)\)$/.exec(profile);
  if (number === of) break;
  await go("n");
}
await close(seen);
