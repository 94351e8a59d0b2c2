// Builds the page into src/deltos/ui/static, or into the folder that is named. Equal sources give equal bytes.
import { build } from "esbuild";
import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../src/deltos/ui/static"));

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx", theme: "src/theme.ts", layout: "src/layout.worker.ts", style: "src/style.css" },
  outdir: out,
  bundle: true,
  minify: true,
  splitting: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  jsx: "automatic",
  jsxImportSource: "preact",
  chunkNames: "part-[hash]",
  define: { "process.env.NODE_ENV": '"production"' },
});
for (const name of await readdir(join(here, "pages"))) {
  await cp(join(here, "pages", name), join(out, name));
}
