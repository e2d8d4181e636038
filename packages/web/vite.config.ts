/** Builds the web UI into dist/. The asset URLs are relative, so that the UI works below any path prefix. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Writes compressed copies beside the assets, so that the server never compresses them itself. */
const compress: Plugin = {
  name: "compress",
  apply: "build",
  async writeBundle({ dir = "" }) {
    const folder = join(dir, "assets");
    for (const name of await readdir(folder)) {
      const bytes = await readFile(join(folder, name));
      const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
      await writeFile(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }));
      await writeFile(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    }
  },
};

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  plugins: [compress],
  resolve: {
    conditions: ["millrace-source", "module", "browser"],
    // React-shaped code on Preact: a tenth of the size. Delete these lines to build with React.
    alias: {
      "react/jsx-runtime": "preact/jsx-runtime",
      "react/jsx-dev-runtime": "preact/jsx-runtime",
      "react-dom": "preact/compat",
      react: "preact/compat",
    },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "react" } },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2023",
    // The weight test reads it.
    manifest: true,
    sourcemap: false,
    // The policy of the pages allows no data: URLs for scripts and fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
