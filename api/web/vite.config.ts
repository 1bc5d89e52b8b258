import { defineConfig } from "vite";

export default defineConfig({
  // The page may be below any path of a proxy.
  base: "./",
  // `npx vite` beside `perfcase serve --open`: the page from its sources, the answers from the server.
  server: { proxy: { "/v1": "http://127.0.0.1:8640" } },
  build: {
    outDir: "../perfcase_api/page",
    emptyOutDir: true,
    target: "es2024",
    // The page's content policy allows no script and no style that stands in the HTML.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
