// What TypeScript's checker says that installed packages export: node exported_names.cjs PROJECT PACKAGE...
const fs = require("node:fs");
const path = require("node:path");

const [project, ...packages] = process.argv.slice(2);
const ts = require(path.join(project, "node_modules/typescript"));

// The specifiers under which a package can be imported; patterns are left out.
function specifiers(name) {
  const manifest = JSON.parse(fs.readFileSync(path.join(project, "node_modules", name, "package.json"), "utf8"));
  const exported = manifest.exports;
  if (!exported || typeof exported === "string" || !Object.keys(exported).some((key) => key.startsWith("."))) return [name];
  const keys = Object.keys(exported).filter((key) => !key.includes("*") && !/\.(json|css|js|cjs|mjs)$/.test(key));
  return keys.map((key) => name + key.slice(1));
}

const result = {};
for (const name of packages) {
  const entry = path.join(project, "__entry.ts");
  const wanted = specifiers(name);
  const host = ts.createCompilerHost({});
  const text = wanted.map((specifier, n) => `import * as m${n} from ${JSON.stringify(specifier)}; m${n};`).join("\n");
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (file, ...rest) => (file === entry ? ts.createSourceFile(file, text, ts.ScriptTarget.ESNext) : read(file, ...rest));
  const exists = host.fileExists.bind(host);
  host.fileExists = (file) => file === entry || exists(file);
  const options = { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, target: ts.ScriptTarget.ESNext, skipLibCheck: true, types: [], noEmit: true };
  const program = ts.createProgram([entry], options, host);
  const checker = program.getTypeChecker();
  const names = new Set();
  for (const statement of program.getSourceFile(entry).statements) {
    if (!ts.isImportDeclaration(statement)) continue;
    const symbol = checker.getSymbolAtLocation(statement.moduleSpecifier);
    if (!symbol) continue;
    for (const exported of checker.getExportsOfModule(symbol)) {
      if (!exported.name.startsWith("_") && exported.name !== "default" && exported.name !== "export=") names.add(exported.name);
    }
  }
  result[name] = [...names];
}
process.stdout.write(JSON.stringify(result));
