// Builds the page into src/deltos/ui/static, or into the folder that is named. Equal sources give equal bytes.
import { build } from "esbuild";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../src/deltos/ui/static"));

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
// Every name but the worker's changes with what is in the file: a browser keeps them without asking.
const { metafile } = await build({
  absWorkingDir: here,
  metafile: true,
  entryPoints: {
    app: "src/main.tsx",
    theme: "src/theme.ts",
    style: "src/style.css",
    layout: "src/layout.worker.ts",
  },
  entryNames: "[name]-[hash]",
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
  assetNames: "[name]-[hash]",
  loader: { ".svg": "file" },
  publicPath: "/static",
  define: { "process.env.NODE_ENV": '"production"' },
});
const made = new Map();
for (const [path, output] of Object.entries(metafile.outputs)) {
  if (output.entryPoint) made.set(basename(output.entryPoint), { name: basename(path), imports: output.imports });
}
const icon = basename(Object.keys(metafile.outputs).find((path) => path.endsWith(".svg")));
const file = (source) => `/static/${made.get(source).name}`;
await rename(join(out, made.get("layout.worker.ts").name), join(out, "layout.js")); // the page asks for it by this name
const preloads = made.get("main.tsx").imports
  .filter((each) => each.kind === "import-statement")
  .map((each) => `<link rel="modulepreload" href="/static/${basename(each.path)}">`)
  .join("\n");
for (const name of (await readdir(join(here, "pages"))).filter((each) => each.endsWith(".html"))) {
  const page = await readFile(join(here, "pages", name), "utf8");
  const named = page
    .replaceAll("/static/icon.svg", `/static/${icon}`)
    .replaceAll("/static/style.css", file("style.css"))
    .replaceAll("/static/theme.js", file("theme.ts"))
    .replace('<script type="module" src="/static/app.js"></script>', `<script type="module" src="${file("main.tsx")}"></script>\n${preloads}`);
  await writeFile(join(out, name), named);
}
